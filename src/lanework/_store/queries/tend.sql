select leads, recovered, swept, unfinished from lanework.tend(%(worker)s::bigint, make_interval(secs => %(lease)s::float8))
