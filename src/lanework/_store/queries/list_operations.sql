select o.id, o.kind, o.filter::text, o.args::text, o.by, o.reason, o.state, o.matched, o.done, o.skipped, o.error, o.created_at, o.ended_at
from lanework.operations o
where (%(id)s::bigint is null or o.id = %(id)s::bigint) and (%(state)s::text is null or o.state = %(state)s::text)
  and (%(by)s::text is null or o.by = %(by)s::text) and (%(before)s::bigint is null or o.id < %(before)s::bigint)
order by o.id desc limit %(limit)s
