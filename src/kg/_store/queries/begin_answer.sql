-- One request at a time per key. A claim that nobody has finished within ten minutes belongs to a process that died.
with claimed as (
    insert into kg.answers as a (owner, key, route, body_hash) values (%(owner)s, %(key)s, %(route)s, %(hash)s)
    on conflict (owner, key) do update set created_at = now(), route = excluded.route, body_hash = excluded.body_hash, status = null
    where a.created_at < now() - interval '7 days' or a.status is null and a.created_at < now() - interval '10 min'
    returning 1
)
select exists (select from claimed), a.route, a.body_hash, a.status, a.body
from (select) one left join kg.answers a on a.owner = %(owner)s and a.key = %(key)s
