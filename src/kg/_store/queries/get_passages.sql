select p.id, o.name, d.id, d.name, d.title, s.id, p.start, p.finish, p.text
from kg.passages p
join kg.ontologies o on o.id = p.ontology_id
join kg.sources s on s.id = p.source_id
join kg.documents d on d.id = s.document_id
where p.id = any (%(ids)s::bigint[])
