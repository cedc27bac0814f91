with given as (
    select * from unnest(%(types)s::text[], %(stances)s::real[], %(vectors)s::text[]) as t (type, stance, vector)
), seen as (
    update kg.vocabulary v set space = %(space)s, embedding = g.vector::vector
    from given g where v.type = g.type and v.embedding is null and g.vector is not null
)
insert into kg.stances (type, space, stance)
select v.type, %(space)s, g.stance from given g join kg.vocabulary v on v.type = g.type
on conflict do nothing
