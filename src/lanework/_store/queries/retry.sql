select lanework.retry(%(id)s::bigint, %(by)s::text, make_interval(secs => %(max_age)s::float8))
