select worker_id, given_back, remaining from lanework.reap(%(worker)s::bigint)
