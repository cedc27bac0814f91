select id, ended from lanework.read_back(%(worker)s::bigint, %(ids)s::bigint[], %(attempts)s::int[], %(claims)s::uuid[])
