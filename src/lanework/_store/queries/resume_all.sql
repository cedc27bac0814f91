select lanework.resume_all(%(by)s::text)
