select j.id, j.payload, c.state
from lanework.jobs j left join lanework.checkpoints c on c.job_id = j.id and j.attempt > 1
where j.id = any (%(ids)s::bigint[]) and j.claim_id = %(claim)s::uuid
