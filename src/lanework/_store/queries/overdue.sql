select j.id, j.attempt, j.claim_id, t.executor, extract(epoch from lanework.now() - j.claimed_at)::float8, t.timeout_s
from lanework.claims c cross join lateral unnest(c.job_ids) x
cross join lateral (
    select j.* from lanework.jobs j where j.id = x and j.claim_id = c.claim_id and j.status = 'running' offset 0) j
join lanework.job_types t on t.id = j.type_id
where c.worker_id = %(worker)s and t.timeout_s is not null
  and lanework.now() > j.claimed_at + make_interval(secs => t.timeout_s + %(grace)s)
