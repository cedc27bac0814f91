select tick, outcome, reason, job_id from lanework.fire(
    %(name)s::text, %(revision)s::bigint, %(ticks)s::timestamptz[], %(first_missed)s::timestamptz, %(missed)s::int, %(next)s::timestamptz)
