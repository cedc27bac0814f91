update kg.documents set processing_status = %(status)s, stage = %(stage)s, updated_at = now()
where id = %(id)s and version = %(version)s returning id
