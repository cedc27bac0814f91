select lanework.remove_error_rule(%(id)s::bigint, %(by)s::text)
