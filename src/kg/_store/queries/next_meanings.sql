-- Who leads the names of these sources when the sources are gone, where that is another one than now.
select distinct m.rank, m.label, m.description
from (select distinct name_id from kg.mentions where source_id = any (%(sources)s::bigint[])) g
join kg.names n on n.id = g.name_id
left join kg.marks k on k.name_id = n.id
join lateral (
    select m.rank, m.label, m.description from kg.mentions m
    where m.name_id = n.id and m.source_id <> all (%(sources)s::bigint[]) order by m.rank limit 1) m on true
where m.rank <> n.rank or k.space is distinct from %(space)s or k.corners is null
