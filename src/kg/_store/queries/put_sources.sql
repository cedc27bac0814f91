-- The chunks of a document's text. Known ones get their new place; answers with all: (id, ordinal, is it new).
with given as (
    select * from unnest(%(hashes)s::bytea[], %(copies)s::int[], %(ordinals)s::int[], %(starts)s::int[], %(owns)s::int[], %(finishes)s::int[],
                         %(texts)s::text[]) as g (hash, copy, ordinal, start, own, finish, text)
), shifted as (
    update kg.passages p set start = p.start + g.start - s.start, finish = p.finish + g.start - s.start
    from given g join kg.sources s on s.document_id = %(document)s and s.hash = g.hash and s.copy = g.copy
    where p.source_id = s.id and g.start <> s.start
), moved as (
    update kg.sources s set ordinal = g.ordinal, start = g.start, own = g.own, finish = g.finish
    from given g where s.document_id = %(document)s and s.hash = g.hash and s.copy = g.copy
    returning s.id, s.ordinal
), added as (
    insert into kg.sources (document_id, hash, copy, ordinal, start, own, finish, text)
    select %(document)s, g.hash, g.copy, g.ordinal, g.start, g.own, g.finish, g.text from given g
    where not exists (select from kg.sources s where s.document_id = %(document)s and s.hash = g.hash and s.copy = g.copy)
    returning id, ordinal
)
select id, ordinal, false from moved union all select id, ordinal, true from added order by 2
