select n.form, n.concept_id, n.type, c.seen_count
from kg.ontologies o
join kg.names n on n.ontology_id = o.id and n.form = any (%(forms)s::text[])
join kg.concepts c on c.id = n.concept_id
where (%(ontologies)s::bigint[] is null or o.id = any (%(ontologies)s::bigint[])) and n.type <> all ('{date,quantity}')
order by c.seen_count, n.concept_id
limit %(limit)s
