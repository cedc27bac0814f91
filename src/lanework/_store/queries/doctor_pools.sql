select w.id, w.name, (w.info ->> 'connections')::int,
       least((w.info ->> 'max_jobs')::int, (
           select sum(least(coalesce(l.max_slots, 10000), coalesce(l.worker_slots, 10000)))::bigint from lanework.lanes l
           where l.enabled and (w.lanes = '{}' or l.name = any (w.lanes))
             and exists (select from lanework.job_types t where t.lane = l.name and t.id = any (w.types))))::int
from lanework.workers w where w.state = 'active' and w.seen_at > lanework.now() - w.ttl and w.info ? 'connections'
order by w.id
