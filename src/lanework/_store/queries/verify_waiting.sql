select j.id, case
    when j.claim_id is not null or j.worker_id is not null then format('is %%s and still has a claim', j.status)
    when j.status = 'scheduled' then 'is scheduled for no moment'
    else format('is %%s with %%s tries used of %%s', j.status, j.tries_used, j.max_tries) end
from lanework.jobs j
where j.status <> 'running' and (
    j.claim_id is not null or j.worker_id is not null or j.status = 'scheduled' and j.run_at is null or j.tries_used >= j.max_tries)
order by j.id limit %(limit)s
