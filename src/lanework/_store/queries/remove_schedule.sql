select lanework.remove_schedule(%(name)s::text, %(by)s::text)
