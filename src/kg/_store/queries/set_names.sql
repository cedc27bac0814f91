-- A name whose vector stays is given none.
update kg.names n
set label = g.label, type = g.type, context = g.context, rank = g.rank, keys = string_to_array(g.keys, E'\x1f'),
    space = case when g.vector is null then n.space else %(space)s end,
    embedding = coalesce(g.vector::vector, n.embedding),
    sketch = coalesce(g.sketch::bit(256), n.sketch),
    bands = coalesce(g.bands::int[], n.bands)
from unnest(%(names)s::bigint[], %(labels)s::text[], %(types)s::text[], %(contexts)s::text[], %(ranks)s::bytea[], %(keys)s::text[],
            %(vectors)s::text[], %(sketches)s::text[], %(bands)s::text[])
    as g (id, label, type, context, rank, keys, vector, sketch, bands)
where n.id = g.id
