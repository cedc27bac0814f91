select lanework.enable_task(%(name)s::text, %(enabled)s::boolean, %(by)s::text)
