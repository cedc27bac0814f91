-- Who may be the same as one of these: found by a key, or by a vector in the same band. Each test looks at the two alone, so it does
-- not matter who else is there or who came first.
with mine as materialized (
    select n.id, n.space, n.embedding, n.sketch, n.bands, string_to_array(g.probes, E'\x1f') as probes
    from unnest(%(names)s::bigint[], %(probes)s::text[]) as g (id, probes) join kg.names n on n.id = g.id
), pairs as (
    select m.id, o.id as other from mine m cross join lateral (
        select o.id from kg.names o where o.keys && m.probes and o.ontology_id = %(ontology)s and o.id <> m.id) o
    union
    select m.id, o.id from mine m cross join lateral (
        select o.id, o.embedding from kg.names o
        where o.bands && m.bands and o.ontology_id = %(ontology)s and o.space = m.space and o.id <> m.id
          and bit_count(o.sketch # m.sketch) <= %(bits)s
        offset 0) o
    where 1 - (o.embedding <=> m.embedding) >= %(cosine)s
)
select p.id, o.id, o.form, o.label, o.type, o.keys, case when o.space = m.space then 1 - (o.embedding <=> m.embedding) end
from pairs p join mine m on m.id = p.id join kg.names o on o.id = p.other
