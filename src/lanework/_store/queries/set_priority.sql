select lanework.set_priority(%(id)s::bigint, %(priority)s::int, %(by)s::text)
