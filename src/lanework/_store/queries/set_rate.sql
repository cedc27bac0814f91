select before, after from lanework.set_rate(%(name)s::text, %(changes)s::jsonb, %(by)s::text)
