select id from lanework.all_jobs where id = any (%(ids)s::bigint[]) and status in ('completed', 'failed', 'cancelled')
