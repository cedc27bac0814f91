select lanework.cancel(%(id)s::bigint, %(by)s::text, %(reason)s::text, %(children)s::boolean)
