select r.id, r.state, r.filter, r.matched, r.moved, r.per_minute, r.canary, r.started_by, r.note, r.started_at, r.ended_at,
       c.completed, c.failed, c.waiting
from lanework.redrives r
left join lateral (
    select count(*) filter (where d.status = 'completed') as completed, count(*) filter (where f.letter > m.letter) as failed,
           count(*) filter (where j.id is not null) as waiting
    from lanework.redriven m
    left join lanework.jobs j on j.id = m.job_id
    left join lanework.jobs_done d on d.id = m.job_id
    left join lanework.jobs_failed f on f.id = m.job_id
    where m.redrive_id = r.id and %(counts)s::boolean) c on true
where (%(id)s::bigint is null or r.id = %(id)s::bigint) and (not %(active)s::boolean or r.state in ('canary', 'flowing'))
order by r.id desc
limit %(limit)s::int
