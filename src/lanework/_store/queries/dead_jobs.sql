select j.id, j.type, j.status::text, j.priority, j.lane, j.attempt, j.tries_used, j.max_tries, j.version, j.payload, j.result,
       j.error_class, j.error_code, j.error, j.owner, coalesce(j.tags, '{}'), j.parent, j.created_at, j.run_at, j.claimed_at,
       j.finished_at, j.deadline, j.worker_id, j.partial, j.session, j.blocked_on, j.continues, p.fraction, p.message, false,
       lanework.job_hash(j.type, j.version, j.payload, j.owner), lanework.about_cost(j.id)
from lanework.dead_matching(%(filter)s::jsonb, coalesce(
    (select f.letter from lanework.jobs_failed f where f.id = %(after)s::bigint), 0), 9223372036854775807, %(limit)s::bigint) x
join lanework.all_jobs j on j.id = x
join lanework.jobs_failed f on f.id = x
left join lanework.progress p on p.job_id = j.id
order by f.letter
