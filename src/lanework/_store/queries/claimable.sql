select exists (
    select from lanework.jobs j join lanework.job_types t on t.id = j.type_id
    where (j.status in ('approved', 'running') or j.status = 'scheduled' and j.run_at <= lanework.now()) and t.name = any (%(types)s)
      and (%(lanes)s::text[] is null or t.lane = any (%(lanes)s::text[])))
