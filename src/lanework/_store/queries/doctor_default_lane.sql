select l.max_slots, array(select t.name from lanework.job_types t where t.lane = 'default' and t.name not like '%%:%%' order by t.name)
from lanework.lanes l
where l.name = 'default' and exists (
    select from lanework.job_types t where t.lane = 'default'
      and exists (select from lanework.jobs j where j.status = 'approved' and j.type_id = t.id offset 0))
