select j.id, j.payload::text, c.state::text,
       case when w.on_failure = 'fail' then (
           select case when count(*) > w.tolerate then format('%%s of its children did not complete', count(*)) end
           from lanework.children k
           where k.parent_id = j.id
             and (exists (select from lanework.jobs_failed f where f.id = k.child_id)
                  or exists (select from lanework.jobs_done d where d.id = k.child_id and d.status = 'cancelled'))) end
from lanework.jobs j
left join lanework.checkpoints c on c.job_id = j.id and j.attempt > 1
left join lanework.waits w on w.job_id = j.id and j.attempt > 1
where j.id = any (%(ids)s::bigint[]) and j.claim_id = %(claim)s::uuid
