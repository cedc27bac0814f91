select status in ('completed', 'failed', 'cancelled') from lanework.all_jobs where id = %(id)s
