select exists (select from kg.leaving l where l.source_id = any (%(sources)s::bigint[]))
