with added as (
    insert into kg.credentials (user_id, kind, name, hash, start, limited_to, expires_at)
    select u.id, %(kind)s, %(name)s, %(hash)s, %(start)s, %(only)s::text[], now() + make_interval(secs => %(seconds)s::float8)
    from kg.users u where u.name = %(user)s
    returning id, created_at, expires_at
)
select a.id, a.created_at, a.expires_at,
       case when %(kind)s = 'token' then lanework.audit(%(by)s, 'token.create', 'token:' || a.id, null, jsonb_build_object(
           'user', %(user)s::text, 'name', %(name)s::text, 'only', %(only)s::text[], 'expires_at', a.expires_at)) end
from added a
