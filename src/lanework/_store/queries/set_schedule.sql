select before, after from lanework.set_schedule(%(name)s::text, %(values)s::jsonb, %(by)s::text, %(create)s::boolean)
