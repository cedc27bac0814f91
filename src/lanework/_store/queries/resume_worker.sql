select lanework.resume_worker(%(worker)s::bigint, %(by)s::text)
