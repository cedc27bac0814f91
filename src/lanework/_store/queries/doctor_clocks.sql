select w.id, w.name, extract(epoch from w.started_at)::float8 - (w.info ->> 'clock')::float8 as ahead
from lanework.workers w where w.state in ('active', 'draining') and w.seen_at > lanework.now() - w.ttl and w.info ? 'clock'
order by w.id
