select lanework.pause_rate(%(name)s::text, %(seconds)s::float8, %(by)s::text)
