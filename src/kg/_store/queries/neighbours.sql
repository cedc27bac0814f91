select one.id, e.*
from unnest(%(ids)s::bigint[]) as one (id)
cross join lateral (
    (select r.id as relation, r.to_id as other, true as outward, r.type, r.tier, r.direction, r.confidence,
         row_number() over (order by r.confidence desc, r.id) as place
     from kg.relations r
     where r.from_id = one.id
       and (%(direction)s <> 'in' or r.direction = 'both')
       and (%(tier)s::text is null or r.tier = %(tier)s)
       and (%(types)s::text[] is null or r.type = any (%(types)s::text[]))
       and (%(ontologies)s::bigint[] is null or r.ontology_id = any (%(ontologies)s::bigint[]))
     order by r.confidence desc, r.id limit %(most)s)
    union all
    (select r.id, r.from_id, false, r.type, r.tier, r.direction, r.confidence,
         row_number() over (order by r.confidence desc, r.id)
     from kg.relations r
     where r.to_id = one.id
       and (%(direction)s <> 'out' or r.direction = 'both')
       and (%(tier)s::text is null or r.tier = %(tier)s)
       and (%(types)s::text[] is null or r.type = any (%(types)s::text[]))
       and (%(ontologies)s::bigint[] is null or r.ontology_id = any (%(ontologies)s::bigint[]))
     order by r.confidence desc, r.id limit %(most)s)
) e
where %(meet)s::bigint[] is null or e.other = any (%(meet)s::bigint[]) or e.place = %(most)s
