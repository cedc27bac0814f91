update kg.instances i set start = -1 - i.start, finish = -1 - i.finish where i.source_id = any (%(ids)s::bigint[]) and i.start < 0
