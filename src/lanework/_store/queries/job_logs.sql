select job_id, attempt, at, stream, text, id from lanework.logs where job_id = %(id)s and id > %(after)s order by id limit %(limit)s
