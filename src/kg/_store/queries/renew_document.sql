-- Text, title and chunks stay those of the version before until this one is done.
update kg.documents
set version = version + 1, hash = %(hash)s, duplicate_of = %(duplicate_of)s, awaits_fetch = false, name = %(name)s,
    media_type = %(media_type)s, size = %(size)s, provenance = %(provenance)s, options = %(options)s, next_text_hash = null,
    processing_status = 'queued', stage = '', chunks = 0, chunks_done = 0, chunks_failed = 0, error = null, updated_at = now()
where id = %(id)s
returning id, version
