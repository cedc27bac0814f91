with gone as (
    update kg.credentials c set revoked_at = now()
    from kg.users u
    where c.id = %(id)s and u.id = c.user_id and c.revoked_at is null and (%(user)s::text is null or u.name = %(user)s::text)
    returning c.id, c.kind, u.name
)
select g.id, case when g.kind = 'token' then lanework.audit(%(by)s, 'token.revoke', 'token:' || g.id, jsonb_build_object('user', g.name)) end
from gone g
