-- What chunks that are to go claim of these names; answers as `drop_claims`.
with said as materialized (
    select c.* from unnest(%(names)s::bigint[]) as n (id)
    cross join lateral (select c.source_id, c.from_name, c.to_name, c.type from kg.claims c where c.from_name = n.id offset 0) c
    where exists (select from kg.leaving l where l.source_id = c.source_id)
    union
    select c.* from unnest(%(names)s::bigint[]) as n (id)
    cross join lateral (select c.source_id, c.from_name, c.to_name, c.type from kg.claims c where c.to_name = n.id offset 0) c
    where exists (select from kg.leaving l where l.source_id = c.source_id)
), gone as (
    delete from kg.claims c using said s
    where c.source_id = s.source_id and c.from_name = s.from_name and c.to_name = s.to_name and c.type = s.type
    returning c.from_name, c.to_name, c.type
)
select distinct c.from_name, c.to_name, c.type, f.concept_id, t.concept_id
from gone c join kg.names f on f.id = c.from_name join kg.names t on t.id = c.to_name
