select lanework.remove_budget(%(name)s::text, %(by)s::text)
