update kg.documents set processing_status = 'processing', stage = 'extract', chunks = %(chunks)s, chunks_done = %(done)s, chunks_failed = 0,
    error = null, updated_at = now()
where id = %(id)s and version = %(version)s returning id
