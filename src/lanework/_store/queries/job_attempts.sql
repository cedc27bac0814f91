select attempt, worker_id, started_at, ended_at, outcome, error_class, error_code, error, traceback, cause from lanework.attempts where job_id = %(id)s order by attempt
