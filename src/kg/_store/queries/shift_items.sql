update kg.items i set meta = i.meta || jsonb_build_object('start', (i.meta ->> 'start')::int + x.shift, 'finish', (i.meta ->> 'finish')::int + x.shift)
from unnest(%(ids)s::bigint[], %(shifts)s::int[]) as x(id, shift) where i.source_id = x.id
