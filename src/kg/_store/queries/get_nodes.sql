select c.id, o.name, c.label, c.type, c.seen_count
from kg.concepts c join kg.ontologies o on o.id = c.ontology_id
where c.id = any (%(ids)s::bigint[]) and (%(ontologies)s::bigint[] is null or c.ontology_id = any (%(ontologies)s::bigint[]))
