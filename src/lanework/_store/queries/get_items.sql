select key, result::text, blob from lanework.steps where job_id = %(id)s::bigint and left(key, length(%(prefix)s::text)) = %(prefix)s::text
