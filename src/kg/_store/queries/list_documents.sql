select id, ontology, name, title, key, version, media_type, size, characters, owner, job_id, status, stage, chunks, chunks_done,
       chunks_failed, error, options, provenance, created_at, updated_at
from kg.document_states
where (%(id)s::bigint is null or id = %(id)s) and (%(before)s::bigint is null or id < %(before)s)
  and (%(ontology)s::text is null or ontology = %(ontology)s) and (%(status)s::text[] is null or status = any (%(status)s))
  and (%(owner)s::text is null or owner = %(owner)s) and (%(name)s::text is null or name = %(name)s)
  and (%(all)s or owner = %(mine)s or ontology = any (%(ontologies)s::text[]))
order by id desc limit %(limit)s
