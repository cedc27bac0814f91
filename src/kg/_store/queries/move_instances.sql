-- Sources that stay may stand elsewhere in the text now. All rows are taken out before the first is put back (`order by`), so that
-- none meets another one's old place.
with place as (
    select s.id, g.start - s.start as by
    from unnest(%(hashes)s::bytea[], %(copies)s::int[], %(starts)s::int[]) as g (hash, copy, start)
    join kg.sources s on s.document_id = %(document)s and s.hash = g.hash and s.copy = g.copy
    where g.start <> s.start
), taken as (
    delete from kg.instances i using place p where i.source_id = p.id returning i.*, p.by
)
insert into kg.instances (name_id, source_id, start, finish, quote)
select t.name_id, t.source_id, t.start + t.by, t.finish + t.by, t.quote from taken t order by t.source_id, t.name_id, t.start
