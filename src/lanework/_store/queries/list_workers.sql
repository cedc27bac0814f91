select w.id, w.name, w.host, w.pid, w.state, w.started_at, w.seen_at, extract(epoch from lanework.now() - w.seen_at)::float8,
       w.lanes, array(select t.name from lanework.job_types t where t.id = any (w.types) order by t.name),
       coalesce((select sum(u.used)::int from lanework.lane_use u where u.worker_id = w.id), 0),
       exists (select from lanework.leader l where l.worker_id = w.id and l.until > lanework.now()),
       w.ended_at, w.ended_because, w.info
from lanework.workers w where %(ended)s or w.state in ('active', 'draining') order by w.id
