select c.id, o.name, c.label, c.type, c.description, c.search_terms, c.seen_count, m.grounding, m.diversity
from kg.concepts c
join kg.ontologies o on o.id = c.ontology_id
left join kg.measure(array[c.id], %(model)s) m on true
where c.id = %(id)s and (%(ontologies)s::bigint[] is null or c.ontology_id = any (%(ontologies)s::bigint[]))
