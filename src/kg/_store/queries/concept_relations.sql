select e.id, e.outward, e.type, e.tier, e.direction, e.confidence, e.evidence, c.id, c.label, c.type, q.*
from (
    (select r.id, true as outward, r.type, r.tier, r.direction, r.confidence, r.evidence, r.to_id as other
     from kg.relations r where r.from_id = %(id)s order by r.confidence desc, r.id limit %(limit)s)
    union all
    (select r.id, false, r.type, r.tier, r.direction, r.confidence, r.evidence, r.from_id
     from kg.relations r where r.to_id = %(id)s order by r.confidence desc, r.id limit %(limit)s)
) e
join kg.concepts c on c.id = e.other
left join lateral kg.relation_quotes(e.id, 1) q on true
where %(ontologies)s::bigint[] is null or c.ontology_id = any (%(ontologies)s::bigint[])
order by e.outward desc, e.confidence desc, e.id
