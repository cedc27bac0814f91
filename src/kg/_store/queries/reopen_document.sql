update kg.documents set processing_status = 'queued', stage = '', error = null, updated_at = now() where id = %(id)s
