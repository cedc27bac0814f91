select coalesce(w.name, 'outside a process'), x.wanted, x.since, '{}'::bigint[]
from lanework.permit_waiters x join lanework.permits p on p.id = x.permit_id left join lanework.workers w on w.id = x.waiter
where p.name = %(name)s::text and x.until > lanework.now()
union all
select 'queued jobs', count(*)::int, min(j.created_at), array_agg(j.id order by j.rank, j.created_at, j.id)
from lanework.jobs j
where j.status = 'blocked' and j.blocked_on = 'permit:' || %(name)s::text and j.blocked_on <> 'session' and j.blocked_on <> 'children'
having count(*) > 0
order by 3
