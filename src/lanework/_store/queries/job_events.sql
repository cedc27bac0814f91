select part, attempt, phase, id, at, topic, kind, data
from lanework.job_events(
    %(job)s::bigint, %(attempt)s::int, %(phase)s::int, %(log)s::bigint, %(act)s::bigint, %(progress)s::timestamptz, %(limit)s::int)
