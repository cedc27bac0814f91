select key from lanework.steps where job_id = %(id)s::bigint limit %(limit)s
