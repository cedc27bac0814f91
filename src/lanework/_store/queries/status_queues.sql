select t.lane, sum(d.n) filter (where d.status = 'approved')::bigint, sum(d.n) filter (where d.status = 'scheduled')::bigint,
       sum(d.n) filter (where d.status in ('pending', 'awaiting_approval', 'blocked'))::bigint,
       sum(d.n) filter (where d.status = 'running')::bigint,
       extract(epoch from lanework.now() - min(d.oldest) filter (where d.status = 'approved'))::float8
from (select j.type_id, j.status, count(*) as n, min(j.created_at) as oldest from lanework.jobs j group by j.type_id, j.status) d
join lanework.job_types t on t.id = d.type_id
group by t.lane
