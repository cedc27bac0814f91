select j.id, t.name, l.name, j.attempt, extract(epoch from lanework.now() - j.claimed_at)::float8, p.fraction, coalesce(p.message, ''),
       w.name, s.kind
from lanework.jobs j
join lanework.job_types t on t.id = j.type_id
left join lanework.lanes l on l.id = j.lane_id
left join lanework.progress p on p.job_id = j.id and p.attempt = j.attempt
left join lanework.workers w on w.id = j.worker_id
left join lanework.stops s on s.job_id = j.id
where j.status = 'running' order by j.claimed_at, j.id limit %(limit)s
