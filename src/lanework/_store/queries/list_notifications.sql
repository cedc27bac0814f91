select x.id, n.name, x.state, x.count, x.groups, x.tries, x.created_at, x.ended_at, x.last_error
from lanework.notifications x left join lanework.notifiers n on n.id = x.notifier_id
where (%(state)s::text is null or x.state = %(state)s::text)
order by x.seq desc
limit %(limit)s::int
