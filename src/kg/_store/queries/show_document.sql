select s.id, s.ontology, s.name, s.title, s.key, s.version, s.media_type, s.size, s.characters, s.owner, s.job_id, s.status, s.stage, s.chunks,
       s.chunks_done, s.chunks_failed, s.error, s.options, s.provenance, s.created_at, s.updated_at,
       -- whom it equals is told to those who may see that one
       case when %(all)s or o.owner = %(mine)s or s.ontology = any (%(ontologies)s::text[]) then s.duplicate_of end
from kg.document_states s
left join kg.documents o on o.id = s.duplicate_of
where s.id = %(id)s and (%(all)s or s.owner = %(mine)s or s.ontology = any (%(ontologies)s::text[]))
