select lanework.use_lane(%(lane)s::int, %(worker)s::bigint, %(used)s::int, %(call)s::bigint)
