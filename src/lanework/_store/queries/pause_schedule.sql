select lanework.pause_schedule(%(name)s::text, %(by)s::text, %(reason)s::text)
