select p.id, n.concept_id, count(*), c.seen_count, min(i.start) - p.start
from kg.passages p
join kg.instances i on i.source_id = p.source_id and i.start >= p.start and i.start < p.finish
join kg.names n on n.id = i.name_id
join kg.concepts c on c.id = n.concept_id
where p.id = any (%(ids)s::bigint[])
group by p.id, n.concept_id, c.seen_count, p.start
order by p.id, n.concept_id
limit %(limit)s
