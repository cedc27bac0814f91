select id, name, max_slots, worker_slots, poll_interval_ms, enabled, types, concurrencies, ready,
       extract(epoch from next_due - now)::float8
from lanework.look(%(lanes)s::text[], %(types)s::int[])
