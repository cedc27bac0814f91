-- What chunks that are to go say of these names. Answers with the names of which they said something.
with said as materialized (
    select m.* from unnest(%(names)s::bigint[]) as n (id)
    cross join lateral (select m.source_id, m.name_id, m.label from kg.mentions m where m.name_id = n.id offset 0) m
    where exists (select from kg.leaving l where l.source_id = m.source_id)
), seen as materialized (
    select i.* from unnest(%(names)s::bigint[]) as n (id)
    cross join lateral (select i.source_id, i.name_id, i.start, i.finish from kg.instances i where i.name_id = n.id offset 0) i
    where exists (select from kg.leaving l where l.source_id = i.source_id)
), mentions as (
    delete from kg.mentions m using said s where m.source_id = s.source_id and m.name_id = s.name_id and m.label = s.label
    returning m.name_id
), instances as (
    delete from kg.instances i using seen s
    where i.source_id = s.source_id and i.name_id = s.name_id and i.start = s.start and i.finish = s.finish
    returning i.name_id
)
select name_id from mentions union select name_id from instances
