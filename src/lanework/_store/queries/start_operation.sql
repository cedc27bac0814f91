select lanework.start_operation(%(kind)s::text, %(filter)s::jsonb, %(args)s::jsonb, %(by)s::text, %(reason)s::text)
