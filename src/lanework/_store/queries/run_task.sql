select thing, count from lanework.run_task(%(name)s::text)
