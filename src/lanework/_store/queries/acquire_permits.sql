select token::text, fence, expires_at from lanework.acquire_permits(
    %(names)s::text[], %(capacity)s::int, make_interval(secs => %(ttl)s::float8), %(holder)s::text, %(job)s::bigint, %(token)s::uuid, %(waiter)s::bigint)
