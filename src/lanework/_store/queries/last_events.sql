select e.xid::text, e.id from lanework.events e
where e.xid < pg_snapshot_xmin(pg_current_snapshot()) and (%(topics)s::text[] is null or e.topic = any (%(topics)s::text[]))
  and (%(kinds)s::text[] is null or e.kind = any (%(kinds)s::text[]))
order by e.xid desc, e.id desc offset %(count)s::int limit 1
