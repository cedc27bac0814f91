-- What the users of these credentials may do now; a credential that is no longer valid is not in the answer.
select c.id, array(
    select p.permission || ' ' || p.scope
    from kg.user_roles r join kg.role_permissions p on p.role = r.role
    where r.user_id = c.user_id and (c.limited_to is null or p.permission = any (c.limited_to))
    group by p.permission, p.scope order by 1)
from kg.credentials c join kg.users u on u.id = c.user_id
where c.id = any (%(ids)s::bigint[]) and c.revoked_at is null and (c.expires_at is null or c.expires_at > now()) and u.disabled_at is null
