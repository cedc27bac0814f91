delete from kg.names where id = any (%(names)s::bigint[])
