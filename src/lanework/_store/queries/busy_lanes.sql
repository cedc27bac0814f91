select lane, used from lanework.busy_lanes(%(lanes)s::text[], %(job)s::bigint)
