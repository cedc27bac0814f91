select s.name, s.type, s.payload, s.version, s.cron, s.every_s, s.tz, s.jitter_s, s.overlap, s.misfire, s.misfire_after_s, s.condition,
       s.priority, s.owner, s.session, coalesce(s.tags, '{}'), s.enabled, s.disabled_because, s.set_by, s.changed_by, s.errors, s.last_error,
       s.next_at, s.last_tick, s.anchor, s.code is not null, s.updated_at, lanework.now()
from lanework.schedules s
where not s.removed and (%(name)s::text is null or s.name = %(name)s::text) order by s.name
