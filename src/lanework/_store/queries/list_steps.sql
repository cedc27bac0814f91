select key, attempt, result::text, blob, at from lanework.steps where job_id = %(id)s::bigint order by seq limit %(limit)s
