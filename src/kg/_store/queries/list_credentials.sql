select c.id, u.name, c.name, c.start, c.limited_to, c.created_at, c.expires_at, c.last_used_at, c.revoked_at
from kg.credentials c join kg.users u on u.id = c.user_id
where c.kind = 'token' and (%(user)s::text is null or u.name = %(user)s::text)
order by c.id desc limit 1000
