select p.id, n.concept_id, count(*)
from kg.passages p
join kg.instances i on i.source_id = p.source_id and i.start >= p.start and i.start < p.finish
join kg.names n on n.id = i.name_id
where p.id = any (%(ids)s::bigint[]) and n.concept_id is not null
group by p.id, n.concept_id
order by p.id, n.concept_id
limit %(limit)s
