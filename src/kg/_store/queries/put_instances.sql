with given as (
    select * from unnest(%(names)s::bigint[], %(starts)s::int[], %(finishes)s::int[], %(quotes)s::text[]) as g (name_id, start, finish, quote)
), gone as (
    delete from kg.instances i
    where i.source_id = %(source)s
      and not exists (select from given g where g.name_id = i.name_id and g.start = i.start and g.finish = i.finish)
    returning i.name_id
), put as (
    insert into kg.instances (name_id, source_id, start, finish, quote)
    select g.name_id, %(source)s, g.start, g.finish, g.quote from given g
    on conflict (source_id, name_id, start, finish) do nothing
    returning name_id
)
select name_id from gone union select name_id from put
