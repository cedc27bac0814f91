update kg.documents
set hash = %(hash)s, duplicate_of = %(duplicate_of)s, awaits_fetch = false, media_type = %(media_type)s, size = %(size)s,
    name = coalesce(%(name)s, name), provenance = provenance || %(provenance)s, updated_at = now()
where id = %(id)s and version = %(version)s
returning id
