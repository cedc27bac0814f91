select lanework.register_tasks(%(tasks)s::jsonb)
