select lanework.register_notifiers(%(notifiers)s::jsonb)
