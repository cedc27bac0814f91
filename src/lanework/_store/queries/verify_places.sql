select x.id, format('is %%s, and that has no place in %%s', x.status, x.place)
from (
    select id, status, 'jobs' as place from lanework.jobs where status in ('completed', 'failed', 'cancelled')
    union all
    select id, status, 'jobs_done' from lanework.jobs_done where status not in ('completed', 'cancelled')
    union all
    select id, status, 'jobs_failed' from lanework.jobs_failed where status <> 'failed'
) x order by x.id limit %(limit)s
