select j.id, t.name, l.name, j.attempt, extract(epoch from lanework.now() - j.claimed_at)::float8, p.fraction, coalesce(p.message, ''),
       w.name, s.kind
from (
    select j.* from lanework.claims c cross join lateral unnest(c.job_ids) x
    cross join lateral (
        select j.id, j.type_id, j.lane_id, j.attempt, j.claimed_at, j.worker_id from lanework.jobs j
        where j.id = x and j.claim_id = c.claim_id and j.status = 'running' offset 0) j
    order by j.claimed_at, j.id limit %(limit)s) j
join lanework.job_types t on t.id = j.type_id
left join lanework.lanes l on l.id = j.lane_id
left join lanework.progress p on p.job_id = j.id and p.attempt = j.attempt
left join lanework.workers w on w.id = j.worker_id
left join lanework.stops s on s.job_id = j.id
order by j.claimed_at, j.id
