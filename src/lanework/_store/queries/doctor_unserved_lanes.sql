select l.name from lanework.lanes l
where l.enabled and exists (select from lanework.job_types t where t.lane = l.name) and lanework.servers(l, null, 0, false) = '{}'
  and exists (select from lanework.workers w where w.state = 'active' and w.seen_at > lanework.now() - w.ttl)
order by l.name
