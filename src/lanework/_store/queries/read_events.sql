select horizon::text, xid::text, id, at, topic, kind, job_id, job_ids, first_id, last_id, data
from lanework.read_events(%(xid)s::text::xid8, %(id)s::bigint, %(topics)s::text[], %(kinds)s::text[], %(limit)s::int)
