select id, hash, copy, version, extractor, ordinal, start, own, finish from kg.sources where document_id = %(id)s
