-- Where they stand is part of their key: below zero first, so that none meets another one on its way.
update kg.instances i set start = -1 - (i.start + x.shift), finish = -1 - (i.finish + x.shift)
from unnest(%(ids)s::bigint[], %(shifts)s::int[]) as x(id, shift) where i.source_id = x.id
