-- Sketches of vectors that stay; and what the names are found by, which an upgrade may have changed as well.
update kg.marks m
set sketch = g.sketch::bit(256), corners = g.bands::int[], keys = string_to_array(g.keys, E'\x1f')
from unnest(%(names)s::bigint[], %(sketches)s::text[], %(bands)s::text[], %(keys)s::text[]) as g (id, sketch, bands, keys)
where m.name_id = g.id
