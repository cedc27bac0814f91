select lanework.freed(%(ids)s::bigint[])
