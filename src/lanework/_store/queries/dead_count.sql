select count(*) from lanework.dead_matching(%(filter)s::jsonb, 0, 9223372036854775807)
