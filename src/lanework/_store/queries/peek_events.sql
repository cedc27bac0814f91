select e.xid::text, e.id, e.job_id, e.job_ids, lower(e.job_range), upper(e.job_range) - 1
from lanework.events e where (e.xid, e.id) > (%(xid)s::text::xid8, %(id)s::bigint)
order by e.xid, e.id limit 500
