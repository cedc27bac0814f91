select l.name, l.job_types, l.max_slots, l.worker_slots, l.poll_interval_ms, l.stale_timeout_minutes, l.enabled, l.updated_at, l.set_by,
       (select coalesce(sum(u.used), 0)::int from lanework.lane_use u where u.lane_id = l.id), lanework.held_by(l.name), l.fair
from lanework.worker_lanes l where %(name)s::text is null or l.name = %(name)s::text order by l.name
