select name, did from lanework.register_schedules(%(schedules)s::jsonb)
