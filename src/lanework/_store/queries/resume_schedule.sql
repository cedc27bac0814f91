select lanework.resume_schedule(%(name)s::text, %(by)s::text)
