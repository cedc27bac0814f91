select q.lane, q.waiting, q.delayed, q.blocked, q.running, extract(epoch from lanework.now() - q.oldest)::float8, e.reason
from lanework.queues(%(most)s::int) q cross join lateral lanework.explain_lane(q.lane) e
