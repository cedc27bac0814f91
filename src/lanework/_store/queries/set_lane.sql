select before, after from lanework.set_lane(%(name)s::text, %(changes)s::jsonb, %(by)s::text, %(create)s::boolean)
