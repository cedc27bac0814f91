select lanework.ensure_rate(%(name)s::text, %(requests)s::float8, %(tokens)s::float8, %(window)s::float8)
