select lanework.stop_operation(%(id)s::bigint, %(by)s::text)
