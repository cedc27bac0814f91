select s.id, v.type, case when v.space = s.id then v.embedding::text end
from kg.spaces s
cross join kg.vocabulary v
where s.model = %(model)s and not exists (select from kg.stances t where t.type = v.type and t.space = s.id)
order by v.type limit 1000
