select n.name, n.kind, n.url, n.secret is not null, n.enabled, n.every_s, n.max_tries, n.set_by,
       (select count(*) from lanework.outbox o where o.notifier_id = n.id),
       exists (
           select from lanework.workers w join lanework.job_types t on t.id = any (w.types)
           where w.state = 'active' and (w.lanes = '{}' or t.lane = any (w.lanes))
             and t.name = 'lanework:notify' || case when n.kind = 'python' then ':' || n.name else '' end)
from lanework.notifiers n
order by n.name
