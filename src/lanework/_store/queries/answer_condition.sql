select lanework.answer_condition(%(name)s::text, %(tick)s::timestamptz, %(job)s::bigint, %(yes)s::boolean, %(arguments)s::jsonb)
