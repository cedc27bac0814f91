select count(*) from lanework.reap(%(worker)s::bigint)
