select b.first, b.ids, b.type_id, b.lane, b.fair_lane, b.turn, b.priority, b.max_tries,
       lanework.ticks(b.now), lanework.ticks(b.now + make_interval(secs => coalesce(cast(%(max_age)s as float8), b.max_age_s))),
       case when w.run_at > b.now then lanework.ticks(w.run_at) end
from lanework.prepare_bulk(cast(%(type)s as text), cast(%(count)s as int), cast(%(owner)s as text), cast(%(priority)s as int)) b
cross join lateral (
    select coalesce(cast(%(run_at)s as timestamptz), b.now + make_interval(secs => cast(%(delay)s as float8))) as run_at) w
