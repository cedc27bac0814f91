select lanework.resume_rate(%(name)s::text, %(by)s::text)
