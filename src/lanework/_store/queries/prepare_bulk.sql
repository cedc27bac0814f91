select b.first, b.ids, b.type_id, b.lane, b.priority, b.max_tries, b.now::text,
       (b.now + make_interval(secs => coalesce(%(max_age)s::float8, b.max_age_s)))::text,
       coalesce(w.run_at > b.now, false), w.run_at::text
from lanework.prepare_bulk(%(type)s::text, %(count)s::int) b
cross join lateral (select coalesce(%(run_at)s::timestamptz, b.now + make_interval(secs => %(delay)s::float8)) as run_at) w
