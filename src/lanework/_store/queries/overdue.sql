select j.id, j.attempt, j.claim_id::text, t.timeout_s, s.kind, s.reason
from lanework.claims c cross join lateral unnest(c.job_ids) x
cross join lateral (
    select j.* from lanework.jobs j where j.id = x and j.claim_id = c.claim_id and j.status = 'running' offset 0) j
join lanework.job_types t on t.id = j.type_id
left join lanework.stops s on s.job_id = j.id
where c.worker_id = %(worker)s
  and (lanework.now() > j.claimed_at + make_interval(secs => t.timeout_s + %(grace)s)
       or lanework.now() > s.asked_at + make_interval(secs => %(grace)s))
