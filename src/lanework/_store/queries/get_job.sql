select j.id, j.type, j.status::text, j.priority, j.lane, j.attempt, j.tries_used, j.max_tries, j.version, j.payload, j.result,
       j.error_class, j.error_code, j.error, j.owner, coalesce(j.tags, '{}'), j.parent, j.created_at, j.run_at, j.claimed_at,
       j.finished_at, j.deadline, j.worker_id, j.partial, j.session, j.blocked_on, j.continues, p.fraction, p.message, s.kind is not null,
       lanework.job_hash(j.type, j.version, j.payload, j.owner), lanework.about_cost(j.id)
from lanework.all_jobs j
left join lanework.progress p on p.job_id = j.id
left join lanework.stops s on s.job_id = j.id and s.kind = 'cancel'
where j.id = %(id)s
