-- Who may be the same as one of these: found by a key, or by a vector in the same band. Each test looks at the two alone, so it does
-- not matter who else is there or who came first. Whoever has no bands yet (since an upgrade) is at least compared with those that he
-- was like before; all others find him when he has them.
with mine as materialized (
    select k.name_id, k.space, v.embedding, k.sketch, k.corners, string_to_array(g.probes, E'\x1f') as probes
    from unnest(%(names)s::bigint[], %(probes)s::text[]) as g (id, probes)
    join kg.marks k on k.name_id = g.id
    join kg.meanings v on v.name_id = g.id
), found as materialized (
    select m.name_id, o.name_id as other, o.keys, case when o.space = m.space then 1 - (v.embedding <=> m.embedding) end as cosine
    from mine m
    cross join lateral (
        select o.name_id, o.keys, o.space from kg.marks o where o.keys && m.probes
        union all
        select o.name_id, o.keys, o.space
        from (select l.other from kg.likes l where l.one = m.name_id union all select l.one from kg.likes l where l.other = m.name_id) l
        join kg.marks o on o.name_id = l.other and o.ontology_id = %(ontology)s and o.corners is null) o
    join kg.meanings v on v.name_id = o.name_id
    union all
    select m.name_id, o.name_id, o.keys, o.cosine
    from mine m
    cross join lateral (
        select o.name_id, o.keys, 1 - (v.embedding <=> m.embedding) as cosine
        from (select o.name_id, o.keys from kg.marks o
              where o.corners && m.corners and o.ontology_id = %(ontology)s and o.space = m.space and o.name_id <> m.name_id
                and bit_count(o.sketch # m.sketch) <= %(bits)s
              offset 0) o -- before their vectors are read
        join kg.meanings v on v.name_id = o.name_id
        offset 0) o
    where o.cosine >= %(cosine)s
)
select f.name_id, n.id, n.form, n.label, n.type, f.keys, f.cosine
from found f
join kg.names n on n.id = f.other
where n.ontology_id = %(ontology)s and n.id <> f.name_id
