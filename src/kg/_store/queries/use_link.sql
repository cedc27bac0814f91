-- A one-time link works once.
update kg.credentials c set revoked_at = now()
from kg.users u
where c.hash = %(hash)s and c.kind = 'link' and c.revoked_at is null and c.expires_at > now() and u.id = c.user_id
  and u.disabled_at is null
returning u.name
