select lanework.begin_task(%(name)s::text, %(worker)s::bigint, %(next)s::timestamptz)
