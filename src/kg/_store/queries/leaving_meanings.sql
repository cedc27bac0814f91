-- Who leads these names when all chunks that are to go are gone, where that is another one than now.
select distinct m.rank, m.label, m.description
from kg.names n
left join kg.marks k on k.name_id = n.id
join lateral (
    select m.rank, m.label, m.description from kg.mentions m
    where m.name_id = n.id and not exists (select from kg.leaving l where l.source_id = m.source_id) order by m.rank limit 1) m on true
where n.id = any (%(names)s::bigint[]) and (m.rank <> n.rank or k.space is distinct from %(space)s or k.corners is null)
