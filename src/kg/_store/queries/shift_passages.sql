update kg.passages p set start = p.start + x.shift, finish = p.finish + x.shift
from unnest(%(ids)s::bigint[], %(shifts)s::int[]) as x(id, shift) where p.source_id = x.id
