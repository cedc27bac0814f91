delete from kg.sources where id = any (%(sources)s::bigint[])
