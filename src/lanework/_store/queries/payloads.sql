select j.id, j.payload::text, c.state::text
from lanework.jobs j left join lanework.checkpoints c on c.job_id = j.id and j.attempt > 1
where j.id = any (%(ids)s::bigint[]) and j.claim_id = %(claim)s::uuid
