select lanework.remove_task(%(name)s::text, %(by)s::text)
