select lanework.start_redrive(%(filter)s::jsonb, %(canary)s::boolean, %(per_minute)s::int, %(by)s::text)
