select l.name, x.n from lanework.lanes l
cross join lateral (
    select count(*) as n from lanework.jobs j join lanework.job_types t on t.id = j.type_id
    where t.lane = l.name and j.status = 'approved') x
where (not l.enabled or l.max_slots = 0 or l.worker_slots = 0) and x.n > 0 order by l.name
