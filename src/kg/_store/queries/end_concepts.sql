delete from kg.concepts where id = any (%(concepts)s::bigint[])
