select count(*) filter (where w.seen_at > lanework.now() - w.ttl)::int,
       count(*) filter (where w.seen_at <= lanework.now() - w.ttl)::int,
       (select worker_id from lanework.leader where until > lanework.now())
from lanework.workers w where w.state in ('active', 'draining')
