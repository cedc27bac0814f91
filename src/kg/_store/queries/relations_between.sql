select %(one)s::bigint, r.id, other.id, true, r.type, r.tier, r.direction, r.confidence
from unnest(%(others)s::bigint[]) as other (id) join kg.relations r on r.from_id = %(one)s and r.to_id = other.id
where (%(tier)s::text is null or r.tier = %(tier)s) and (%(types)s::text[] is null or r.type = any (%(types)s::text[]))
  and (%(ontologies)s::bigint[] is null or r.ontology_id = any (%(ontologies)s::bigint[]))
union all
select %(one)s::bigint, r.id, other.id, false, r.type, r.tier, r.direction, r.confidence
from unnest(%(others)s::bigint[]) as other (id) join kg.relations r on r.from_id = other.id and r.to_id = %(one)s
where (%(tier)s::text is null or r.tier = %(tier)s) and (%(types)s::text[] is null or r.type = any (%(types)s::text[]))
  and (%(ontologies)s::bigint[] is null or r.ontology_id = any (%(ontologies)s::bigint[]))
