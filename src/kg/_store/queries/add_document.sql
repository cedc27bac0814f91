insert into kg.documents (ontology_id, hash, key, name, media_type, size, owner, provenance, options, awaits_fetch)
values (%(ontology)s, %(hash)s, %(key)s, %(name)s, %(media_type)s, %(size)s, %(owner)s, %(provenance)s, %(options)s, %(hash)s::bytea is null)
on conflict do nothing
returning id, version
