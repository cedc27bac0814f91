select b.name, b.amount, b.per, coalesce(s.spent, 0), coalesce(s.reserved, 0),
       (select count(*)::int from lanework.jobs j
        where j.status = 'blocked' and j.blocked_on = 'budget:' || b.name and j.blocked_on <> 'session' and j.blocked_on <> 'children'),
       b.set_by, b.updated_at
from lanework.budgets b
left join lanework.budget_spend s on s.name = b.name and s.since = lanework.period_of(b.per, lanework.now())
where %(name)s::text is null or b.name = %(name)s::text order by b.name
