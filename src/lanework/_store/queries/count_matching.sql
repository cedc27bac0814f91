select lanework.count_matching(%(kind)s::text, %(filter)s::jsonb)
