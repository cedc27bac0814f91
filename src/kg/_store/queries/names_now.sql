-- Names (or those that a source mentions), and what their leading mention says now. One that nobody mentions any more has none.
select n.id, n.form, n.rank, k.keys, n.concept_id, coalesce(k.space = %(space)s and k.corners is not null, false),
       m.rank, m.label, m.type, m.description,
       (select coalesce(array_agg(distinct t.form order by t.form), '{}') from kg.terms t where t.name_id = n.id and t.form <> n.form)
from kg.names n
left join kg.marks k on k.name_id = n.id
left join lateral (
    select m.rank, m.label, m.type, m.description from kg.mentions m where m.name_id = n.id order by m.rank limit 1) m on true
where n.id = any (coalesce(%(names)s::bigint[], array(select x.name_id from kg.mentions x where x.source_id = %(source)s)))
order by n.form
