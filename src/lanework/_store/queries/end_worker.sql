select given_back, remaining from lanework.end_worker(%(worker)s::bigint, %(state)s::text, %(because)s::text, %(suspect)s::boolean)
