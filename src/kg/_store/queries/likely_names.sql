-- Who may be the same as one of these: found by a key, or by a vector in the same band. Each test looks at the two alone, so it does
-- not matter who else is there or who came first. Whoever has no bands yet (since an upgrade) is at least compared with those that he
-- was like before; all others find him when he has them.
with mine as materialized (
    select k.name_id, k.space, v.embedding, k.sketch, k.corners, string_to_array(g.probes, E'\x1f') as probes
    from unnest(%(names)s::bigint[], %(probes)s::text[]) as g (id, probes)
    join kg.marks k on k.name_id = g.id
    join kg.meanings v on v.name_id = g.id
), pairs as materialized (
    select m.name_id, o.name_id as other, 'key' as by from mine m cross join lateral (
        select o.name_id from kg.marks o where o.keys && m.probes and o.ontology_id = %(ontology)s and o.name_id <> m.name_id) o
    union all
    select m.name_id, o.name_id, 'band' from mine m cross join lateral (
        select o.name_id from kg.marks o
        where o.corners && m.corners and o.ontology_id = %(ontology)s and o.space = m.space and o.name_id <> m.name_id
          and bit_count(o.sketch # m.sketch) <= %(bits)s) o
    union all
    select m.name_id, o.name_id, 'before' from mine m
    cross join lateral (select l.other from kg.likes l where l.one = m.name_id union all select l.one from kg.likes l where l.other = m.name_id) l
    join kg.marks o on o.name_id = l.other
    where o.corners is null
), near as materialized (
    select p.name_id, p.other, p.by, case when k.space = m.space then 1 - (v.embedding <=> m.embedding) end as cosine
    from pairs p
    join mine m on m.name_id = p.name_id
    join kg.marks k on k.name_id = p.other
    join kg.meanings v on v.name_id = p.other
)
select p.name_id, n.id, n.form, n.label, n.type, k.keys, p.cosine
from near p
join kg.names n on n.id = p.other
join kg.marks k on k.name_id = p.other
where p.by <> 'band' or p.cosine >= %(cosine)s
