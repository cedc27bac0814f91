select s.id, s.ontology, s.name, s.title, s.key, s.version, s.media_type, s.size, s.characters, s.owner, s.job_id, s.status, s.stage, s.chunks,
       s.chunks_done, s.chunks_failed, s.error, s.options, s.provenance, s.created_at, s.updated_at,
       -- whom it equals is told to those who may see that one
       case when %(all)s or o.owner = %(mine)s or s.ontology = any (%(ontologies)s::text[]) then s.duplicate_of end
from kg.document_states s
left join kg.documents o on o.id = s.duplicate_of
where (%(before)s::bigint is null or s.id < %(before)s)
  and (%(ontology)s::text is null or s.ontology = %(ontology)s) and (%(status)s::text[] is null or s.status = any (%(status)s))
  and (%(owner)s::text is null or s.owner = %(owner)s) and (%(name)s::text is null or s.name = %(name)s)
  and (%(all)s or s.owner = %(mine)s or s.ontology = any (%(ontologies)s::text[]))
order by s.id desc limit %(limit)s
