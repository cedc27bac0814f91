select u.worker_id, case
    when w.id is null or w.state not in ('active', 'draining') then format('has ended and still uses %%s slots of lane %%s', u.used, l.name)
    else format('runs %%s jobs in lane %%s and says it uses %%s slots', r.running, l.name, u.used) end
from (
    select lane_id, worker_id, sum(used) as used from (
        select lane_id, worker_id, used from lanework.lane_use
        union all
        select distinct j.lane_id, j.worker_id, 0 from lanework.jobs j where j.status = 'running') b
    group by lane_id, worker_id) u
left join lanework.workers w on w.id = u.worker_id
left join lanework.lanes l on l.id = u.lane_id
cross join lateral (
    select count(*) as running from lanework.jobs j
    where j.status = 'running' and j.lane_id = u.lane_id and j.worker_id = u.worker_id) r
where r.running > u.used or u.used > 0 and (w.id is null or w.state not in ('active', 'draining'))
order by u.worker_id limit %(limit)s
