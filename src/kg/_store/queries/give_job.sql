update kg.documents set job_id = %(job)s where id = %(id)s
