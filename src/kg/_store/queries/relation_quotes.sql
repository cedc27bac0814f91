select one.id, q.*
from unnest(%(ids)s::bigint[]) as one (id)
cross join lateral kg.relation_quotes(one.id, %(limit)s) q
