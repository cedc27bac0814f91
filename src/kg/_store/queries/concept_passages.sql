select one.id, p.id, count(*), c.seen_count
from unnest(%(ids)s::bigint[]) as one (id)
join kg.concepts c on c.id = one.id
cross join lateral (
    select i.source_id, i.start
    from kg.names n
    cross join lateral (
        select * from kg.instances i
        where i.name_id = n.id and not exists (select from kg.leaving l where l.source_id = i.source_id)
        order by i.source_id, i.start limit %(most)s) i
    where n.concept_id = one.id
    order by i.source_id, i.start limit %(most)s) i
join kg.passages p on p.source_id = i.source_id and i.start >= p.start and i.start < p.finish
where %(ontologies)s::bigint[] is null or p.ontology_id = any (%(ontologies)s::bigint[])
group by one.id, p.id, c.seen_count
order by one.id, p.id
