select lanework.archive_dead(%(filter)s::jsonb, %(by)s::text, %(reason)s::text)
