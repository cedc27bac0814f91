select x.id, format('is of type %%s, which does not exist', x.type_id)
from (
    select id, type_id from lanework.jobs union all select id, type_id from lanework.jobs_done
    union all select id, type_id from lanework.jobs_failed) x
where not exists (select from lanework.job_types t where t.id = x.type_id) order by x.id limit %(limit)s
