select lanework.drain_worker(%(worker)s::bigint, %(by)s::text)
