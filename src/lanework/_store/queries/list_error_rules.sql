select r.id, t.name, r.pattern, r.error_class, r.set_by, r.at
from lanework.error_rules r left join lanework.job_types t on t.id = r.type_id
order by r.id
