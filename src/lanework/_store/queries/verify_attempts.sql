select a.job_id, format('has attempt %%s in its history, and its row says %%s', max(a.attempt), min(x.attempt))
from lanework.attempts a
join lateral (
    select attempt from lanework.jobs where id = a.job_id
    union all select attempt from lanework.jobs_done where id = a.job_id
    union all select attempt from lanework.jobs_failed where id = a.job_id) x on true
group by a.job_id having max(a.attempt) > min(x.attempt) order by a.job_id limit %(limit)s
