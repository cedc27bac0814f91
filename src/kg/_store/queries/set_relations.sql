-- What changed is told as claims between names, as relations that were between concepts before, and as names that are now part of
-- another concept (with the one before). Sums are of whole numbers: no order of adding gives another figure.
with moved as (
    select * from unnest(%(moved)s::bigint[], %(was)s::bigint[]) as m (name, was)
), touched as (
    select c.from_name, c.to_name, c.type from kg.claims c join moved m on m.name = c.from_name
    union select c.from_name, c.to_name, c.type from kg.claims c join moved m on m.name = c.to_name
), changed (from_id, to_id, type) as (
    select f.concept_id, t.concept_id, k.type
    from (select * from unnest(%(from_names)s::bigint[], %(to_names)s::bigint[], %(types)s::text[]) as k (from_name, to_name, type)
          union select * from touched) k
    join kg.names f on f.id = k.from_name
    join kg.names t on t.id = k.to_name
    union
    select coalesce(a.was, f.concept_id), coalesce(b.was, t.concept_id), k.type
    from touched k
    join kg.names f on f.id = k.from_name
    join kg.names t on t.id = k.to_name
    left join moved a on a.name = k.from_name
    left join moved b on b.name = k.to_name
    union
    select * from unnest(%(from_ids)s::bigint[], %(to_ids)s::bigint[], %(old_types)s::text[]) as b (f, t, type)
    where b.f is not null and b.t is not null
), sums as (
    select k.from_id, k.to_id, k.type, min(c.tier) as tier, min(c.direction) as direction, count(distinct c.source_id) as evidence,
           1 - exp(-sum(round(-ln(1 - least(c.confidence::float8, 0.999)) * 1e6)::bigint)::float8 / 1e6) as confidence
    from changed k
    -- in this order: all the claims of a frequent name are never read
    cross join lateral (select n.id from kg.names n where n.concept_id = k.from_id offset 0) f
    cross join lateral (select n.id from kg.names n where n.concept_id = k.to_id offset 0) t
    cross join lateral (
        select c.source_id, c.tier, c.direction, c.confidence from kg.claims c
        where c.from_name = f.id and c.to_name = t.id and c.type = k.type offset 0) c
    where k.from_id <> k.to_id
    group by 1, 2, 3
), gone as (
    delete from kg.relations r using changed k
    where r.from_id = k.from_id and r.to_id = k.to_id and r.type = k.type
      and not exists (select from sums s where s.from_id = k.from_id and s.to_id = k.to_id and s.type = k.type)
)
insert into kg.relations as r (ontology_id, from_id, to_id, type, tier, direction, confidence, evidence)
select %(ontology)s, s.from_id, s.to_id, s.type, s.tier, s.direction, s.confidence, s.evidence from sums s
on conflict (from_id, to_id, type) do update
set tier = excluded.tier, direction = excluded.direction, confidence = excluded.confidence, evidence = excluded.evidence
where (r.tier, r.direction, r.confidence, r.evidence) is distinct from (excluded.tier, excluded.direction, excluded.confidence, excluded.evidence)
