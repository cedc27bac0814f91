select u.name, array(select r.role from kg.user_roles r where r.user_id = u.id order by r.role), u.password is not null,
       u.disabled_at is not null, u.created_at,
       (select max(c.last_used_at) from kg.credentials c where c.user_id = u.id)
from kg.users u where %(name)s::text is null or u.name = %(name)s::text order by u.name limit 1000
