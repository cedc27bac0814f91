update kg.documents
set version = version + 1, hash = %(hash)s, name = %(name)s, media_type = %(media_type)s, size = %(size)s,
    provenance = %(provenance)s, options = %(options)s, text_hash = null, characters = null, title = '',
    processing_status = 'queued', stage = '', chunks = 0, chunks_done = 0, chunks_failed = 0, error = null, updated_at = now()
where id = %(id)s
returning id, version
