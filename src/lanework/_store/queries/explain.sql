select job_id, status::text, reason, text, waits_for, holders, until, remedy from lanework.explain(%(id)s::bigint)
