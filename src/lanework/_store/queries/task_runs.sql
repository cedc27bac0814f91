select r.id, r.task, r.started_at, r.ended_at, r.outcome, r.error, r.counts, r.worker_id, r.job_id, r.asked_by
from lanework.maintenance_runs r where %(name)s::text is null or r.task = %(name)s::text order by r.id desc limit %(limit)s::int
