select lanework.renew_permits(%(token)s::uuid, make_interval(secs => %(ttl)s::float8))
