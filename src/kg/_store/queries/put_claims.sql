-- What the source claims from now on. Answers with what changed: the names, and the concepts that they are part of now.
with given as (
    select * from unnest(%(froms)s::bigint[], %(tos)s::bigint[], %(types)s::text[], %(tiers)s::text[], %(directions)s::text[],
                         %(confidences)s::real[]) as g (from_name, to_name, type, tier, direction, confidence)
), gone as (
    delete from kg.claims c
    where c.source_id = %(source)s
      and not exists (select from given g where g.from_name = c.from_name and g.to_name = c.to_name and g.type = c.type)
    returning c.from_name, c.to_name, c.type
), put as (
    insert into kg.claims as c (source_id, from_name, to_name, type, tier, direction, confidence)
    select %(source)s, g.from_name, g.to_name, g.type, g.tier, g.direction, g.confidence from given g
    on conflict (source_id, from_name, to_name, type) do update
    set tier = excluded.tier, direction = excluded.direction, confidence = excluded.confidence
    where (c.tier, c.direction, c.confidence) is distinct from (excluded.tier, excluded.direction, excluded.confidence)
    returning c.from_name, c.to_name, c.type
)
select c.from_name, c.to_name, c.type, f.concept_id, t.concept_id
from (select * from gone union select * from put) c
join kg.names f on f.id = c.from_name
join kg.names t on t.id = c.to_name
