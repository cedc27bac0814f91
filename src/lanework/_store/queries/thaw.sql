select lanework.thaw(%(freeze)s::bigint, %(by)s::text)
