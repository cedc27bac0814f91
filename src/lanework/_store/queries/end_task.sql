select lanework.end_task(%(name)s::text, %(fence)s::bigint, %(outcome)s::text, %(error)s::text, %(counts)s::jsonb)
