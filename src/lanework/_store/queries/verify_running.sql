select j.id, case
    when j.claim_id is null or j.worker_id is null then 'is running and has no claim'
    when w.id is null then format('is running on worker %%s, which does not exist', j.worker_id)
    when w.state not in ('active', 'draining') then format('is running on worker %%s, which is %%s', j.worker_id, w.state)
    else format('is running, and no claim of worker %%s holds it', j.worker_id) end
from lanework.jobs j left join lanework.workers w on w.id = j.worker_id
where j.status = 'running' and (
    j.claim_id is null or w.id is null or w.state not in ('active', 'draining')
    or not exists (
        select from lanework.claims c where c.worker_id = j.worker_id and c.claim_id = j.claim_id and j.id = any (c.job_ids)))
order by j.id limit %(limit)s
