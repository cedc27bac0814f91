select lanework.schedule_broken(%(name)s::text, %(revision)s::bigint, %(error)s::text)
