select r.name, r.requests, r.tokens, r.window_s, r.burst,
       case when r.paused_until > lanework.now() then r.paused_until end,
       (select count(*)::int from lanework.jobs j
        where j.status = 'blocked' and j.blocked_on = 'rate:' || r.name and j.blocked_on <> 'session' and j.blocked_on <> 'children'),
       r.set_by, r.updated_at
from lanework.rates r where %(name)s::text is null or r.name = %(name)s::text order by r.name
