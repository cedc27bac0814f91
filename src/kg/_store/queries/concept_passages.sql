select one.id, p.*
from unnest(%(ids)s::bigint[]) as one (id)
join kg.concepts c on c.id = one.id
cross join lateral (
    select p.id, count(*), c.seen_count, min(i.start) - p.start as after
    from (
        select i.source_id, i.start
        from kg.names n
        cross join lateral (
            select * from kg.instances i
            where i.name_id = n.id and not exists (select from kg.leaving l where l.source_id = i.source_id)
            order by i.source_id, i.start limit %(look)s) i
        where n.concept_id = one.id
        order by i.source_id, i.start limit %(look)s) i
    join kg.passages p on p.source_id = i.source_id and i.start >= p.start and i.start < p.finish
    where %(ontologies)s::bigint[] is null or p.ontology_id = any (%(ontologies)s::bigint[])
    group by p.id
    order by after, p.id limit %(most)s) p
order by one.id, p.id
