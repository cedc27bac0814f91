select tick, outcome, reason, job_id from lanework.run_schedule(%(name)s::text, %(by)s::text, %(force)s::boolean)
