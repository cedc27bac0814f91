select result::text, blob from lanework.steps where job_id = %(id)s::bigint and key = %(key)s::text
