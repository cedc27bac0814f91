select r.id::text, r.at, r.amount, r.actual, r.state, r.what, r.job_id, r.names
from lanework.reservations r
where (%(job)s::bigint is null or r.job_id = %(job)s::bigint) and (%(budget)s::text is null or %(budget)s::text = any (r.names))
order by r.at desc, r.id limit %(limit)s
