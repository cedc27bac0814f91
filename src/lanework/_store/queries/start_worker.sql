select lanework.start_worker(
    %(name)s::text, %(host)s::text, %(pid)s::int, make_interval(secs => %(ttl)s::float8), %(lanes)s::text[], %(types)s::int[],
    %(info)s::jsonb)
