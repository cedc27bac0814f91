select a.id, a.at, a.actor, a.act, a.target, a.before::text, a.after::text, a.origin
from lanework.audit_log a
where (%(before)s::bigint is null or a.id < %(before)s::bigint)
  and (%(actor)s::text is null or a.actor = %(actor)s::text)
  and (%(act)s::text is null or a.act = %(act)s::text or starts_with(a.act, %(act)s::text || '.'))
  and (%(target)s::text is null or a.target = %(target)s::text)
  and (%(since)s::timestamptz is null or a.at > %(since)s::timestamptz)
order by a.id desc limit %(limit)s
