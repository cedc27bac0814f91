-- A concept is called by its most frequent name, as that is written most often; what it is, the first of its names says that says it.
-- A vector that stays is not touched: it would move in its index.
update kg.concepts c
set label = k.label, type = k.type, description = k.description, search_terms = k.terms, lead = k.lead, rank = n.rank, space = m.space,
    embedding = case when c.lead = k.lead and c.rank = n.rank and c.space = m.space then c.embedding else v.embedding end,
    seen_count = k.seen, last_epoch = %(epoch)s,
    words = setweight(to_tsvector('english', k.label), 'A') || setweight(to_tsvector('english', array_to_string(k.terms, ' ')), 'B')
        || setweight(to_tsvector('english', k.description), 'C')
from (
    select g.id, names.ids[1] as lead, coalesce(names.types[1], '') as type, coalesce(names.contexts[1], '') as description, best.label,
           names.seen, others.terms
    from unnest(%(concepts)s::bigint[]) as g (id)
    cross join lateral (
        select array_agg(n.id order by n.mentions desc, n.form) as ids, sum(n.seen) as seen,
               array_agg(n.type order by n.mentions desc, n.form) filter (where n.type <> '') as types,
               array_agg(n.context order by n.mentions desc, n.form) filter (where n.context <> '') as contexts
        from (select n.*, (select sum(l.mentions) from kg.labels l where l.name_id = n.id) as mentions from kg.names n where n.concept_id = g.id) n
        having count(*) > 0) names
    cross join lateral (
        select l.label from kg.labels l where l.name_id = names.ids[1] order by l.mentions desc, l.label limit 1) best
    cross join lateral (
        select coalesce(array_agg(f.term order by f.mentions desc, f.term), '{}') as terms
        from (select x.term, sum(x.mentions) as mentions
              from (select l.label as term, l.mentions from kg.names n join kg.labels l on l.name_id = n.id where n.concept_id = g.id
                    union all
                    select t.term, t.mentions from kg.names n join kg.terms t on t.name_id = n.id where n.concept_id = g.id) x
              where x.term <> best.label group by x.term order by 2 desc, 1 limit 50) f) others
) k
join kg.names n on n.id = k.lead
join kg.marks m on m.name_id = k.lead
join kg.meanings v on v.name_id = k.lead
where c.id = k.id
