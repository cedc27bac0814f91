with given as (
    select * from unnest(%(names)s::bigint[], %(labels)s::text[], %(types)s::text[], %(contexts)s::text[], %(ranks)s::bytea[], %(keys)s::text[],
                         %(vectors)s::text[], %(sketches)s::text[], %(bands)s::text[])
        as g (id, label, type, context, rank, keys, vector, sketch, bands)
), named as (
    update kg.names n set label = g.label, type = g.type, context = g.context, rank = g.rank from given g where n.id = g.id
), found as ( -- their vectors stay
    update kg.marks m set keys = string_to_array(g.keys, E'\x1f') from given g where m.name_id = g.id and g.vector is null
), meant as (
    insert into kg.meanings (name_id, embedding) select g.id, g.vector::vector from given g where g.vector is not null
    on conflict (name_id) do update set embedding = excluded.embedding
)
insert into kg.marks (name_id, ontology_id, space, sketch, corners, keys)
select g.id, %(ontology)s, %(space)s, g.sketch::bit(256), g.bands::int[], string_to_array(g.keys, E'\x1f')
from given g where g.vector is not null
on conflict (name_id) do update set keys = excluded.keys, space = excluded.space, sketch = excluded.sketch, corners = excluded.corners
