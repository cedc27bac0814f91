-- What its address has now is a new version; what that is shows when it has come.
update kg.documents
set version = version + 1, awaits_fetch = true, name = coalesce(%(name)s, name), options = %(options)s, next_text_hash = null,
    processing_status = 'queued', stage = '', chunks = 0, chunks_done = 0, chunks_failed = 0, error = null, updated_at = now()
where id = %(id)s
returning id, version
