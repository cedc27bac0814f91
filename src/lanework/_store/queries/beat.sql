select kind, job_id, attempt, reason from lanework.beat(%(worker)s::bigint, %(open)s::bigint[], %(told)s::bigint, make_interval(secs => %(gap)s::float8))
