select lanework.completed(%(worker)s::bigint, %(ids)s::bigint[], %(attempts)s::int[], %(claims)s::uuid[], %(results)s::text[])
