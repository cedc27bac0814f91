select t.lane, t.name, d.status::text, d.n, d.oldest
from lanework.job_types t
cross join lateral (
    select j.status, count(*) as n, min(j.created_at) as oldest
    from lanework.jobs j where j.type_id = t.id group by j.status) d
order by t.lane, t.name, d.status
