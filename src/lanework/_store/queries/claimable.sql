-- Something that can be claimed or runs; a parent whose last child has ended and that nobody has woken yet, or a job whose estimate has
-- ended and was not taken yet: a worker is about to.
select exists (
    select from lanework.jobs j join lanework.job_types t on t.id = j.type_id
    where (j.status in ('approved', 'running') or j.status = 'scheduled' and j.run_at <= lanework.now()
           or j.status = 'blocked' and j.blocked_on = 'children' and not exists (select from lanework.jobs c where c.parent = j.id)
           or j.status = 'pending' and exists (
               select from lanework.estimating e
               where e.job_id = j.id and not exists (select from lanework.jobs x where x.id = e.estimate_id)))
      and t.name = any (%(types)s) and (%(lanes)s::text[] is null or t.lane = any (%(lanes)s::text[])))
