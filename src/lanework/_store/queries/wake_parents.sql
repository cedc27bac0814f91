select lanework.wake_parents(%(ids)s::bigint[])
