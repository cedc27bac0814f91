select lanework.lead(%(worker)s::bigint, make_interval(secs => %(lease)s::float8))
