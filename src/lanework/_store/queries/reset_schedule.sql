select lanework.reset_schedule(%(name)s::text, %(by)s::text)
