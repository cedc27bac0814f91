select lanework.ask_task(%(name)s::text, %(by)s::text)
