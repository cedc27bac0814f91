select refused, amount_left from lanework.reserve(
    %(id)s::uuid, %(amount)s::numeric, %(what)s::text, %(names)s::text[], %(job)s::bigint, %(attempt)s::int, %(owner)s::text, %(worker)s::bigint)
