select t.name, t.kind, t.description, t.cron, t.every_s, t.tz, t.timeout_s, t.enabled, t.set_by, t.next_at,
       coalesce(t.running_until > lanework.now(), false) or t.job_id is not null, r.outcome, r.ended_at, r.error
from lanework.maintenance_tasks t
left join lateral (
    select x.outcome, x.ended_at, x.error from lanework.maintenance_runs x
    where x.task = t.name and x.outcome <> 'running' order by x.id desc limit 1) r on true
where not t.removed and (%(name)s::text is null or t.name = %(name)s::text) order by t.name
