select k.tick, case k.outcome when 'submitted' then coalesce(k.ended, a.status::text, k.outcome) else k.outcome end, k.reason,
       k.job_id, k.condition_id, k.until, k.count, k.asked_by, k.at, k.ended_at
from lanework.ticks k
left join lateral (select j.status from lanework.jobs j where j.id = k.job_id offset 0) a on true
where k.schedule = %(name)s::text and (%(before)s::timestamptz is null or k.tick < %(before)s::timestamptz)
order by k.tick desc limit %(limit)s::int
