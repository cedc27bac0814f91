select id from lanework.write_progress(
    %(ids)s::bigint[], %(attempts)s::int[], %(claims)s::uuid[], %(fractions)s::real[], %(messages)s::text[], %(data)s::text[]) as w(id)
