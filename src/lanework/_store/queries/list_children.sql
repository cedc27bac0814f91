select k.name, j.id, j.type, j.status::text, j.result::text, j.error_class, j.error
from lanework.children k join lanework.all_jobs j on j.id = k.child_id where k.parent_id = %(id)s::bigint order by j.id
