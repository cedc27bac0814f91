select j.id, case
    when j.status = 'pending' then 'is pending, and nobody estimates it'
    when j.status = 'awaiting_approval' then 'is awaiting_approval, and has no moment at which that ends'
    else format('is %%s, and its approval is for another payload', j.status) end
from lanework.jobs j
where j.status = 'pending' and not exists (select from lanework.estimating e where e.job_id = j.id)
   or j.status = 'awaiting_approval' and not exists (select from lanework.approval_requests r where r.job_id = j.id)
   or exists (select from lanework.approvals a where a.job_id = j.id and a.hash <> lanework.hash_of(j))
order by j.id limit %(limit)s
