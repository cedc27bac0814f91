-- A credential's user and what he may do; noted as used once a minute at most.
with found as (
    select c.id, c.kind, c.user_id, c.limited_to, c.last_used_at, u.name
    from kg.credentials c join kg.users u on u.id = c.user_id
    where c.hash = %(hash)s and c.kind = any (%(kinds)s) and c.revoked_at is null
      and (c.expires_at is null or c.expires_at > now()) and u.disabled_at is null
), used as (
    update kg.credentials c set last_used_at = now() from found f
    where c.id = f.id and (f.last_used_at is null or f.last_used_at < now() - interval '1 min')
)
select f.id, f.kind, f.user_id, f.name, array(
    select p.permission || ' ' || p.scope
    from kg.user_roles r join kg.role_permissions p on p.role = r.role
    where r.user_id = f.user_id and (f.limited_to is null or p.permission = any (f.limited_to))
    group by p.permission, p.scope)
from found f
