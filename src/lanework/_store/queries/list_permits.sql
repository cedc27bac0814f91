select p.name, p.capacity,
       (select coalesce(sum(u.used), 0)::int from lanework.permit_use u where u.permit_id = p.id)
       + (select count(*)::int from lanework.permit_holds h where h.permit_id = p.id and h.expires_at > lanework.now()),
       (select coalesce(sum(w.wanted), 0)::int from lanework.permit_waiters w where w.permit_id = p.id and w.until > lanework.now())
       + (select count(*)::int from lanework.jobs j
          where j.status = 'blocked' and j.blocked_on = 'permit:' || p.name and j.blocked_on <> 'session' and j.blocked_on <> 'children'),
       p.set_by, p.updated_at
from lanework.permits p where %(name)s::text is null or p.name = %(name)s::text order by p.name
