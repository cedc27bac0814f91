select x.id, 'is in ' || string_agg(x.place, ' and in ' order by x.place)
from (
    select j.id, 'jobs' as place from lanework.jobs j
    where exists (select from lanework.jobs_done d where d.id = j.id) or exists (select from lanework.jobs_failed f where f.id = j.id)
    union all
    select d.id, 'jobs_done' from lanework.jobs_done d
    where exists (select from lanework.jobs j where j.id = d.id) or exists (select from lanework.jobs_failed f where f.id = d.id)
    union all
    select f.id, 'jobs_failed' from lanework.jobs_failed f
    where exists (select from lanework.jobs j where j.id = f.id) or exists (select from lanework.jobs_done d where d.id = f.id)
) x group by x.id order by x.id limit %(limit)s
