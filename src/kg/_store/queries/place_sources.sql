-- Chunks that are as they were: where they stand now.
update kg.sources s set ordinal = x.ordinal, start = x.start, own = x.own, finish = x.finish, version = %(version)s
from unnest(%(ids)s::bigint[], %(ordinals)s::int[], %(starts)s::int[], %(owns)s::int[], %(finishes)s::int[])
    as x(id, ordinal, start, own, finish)
where s.id = x.id
