select before, after from lanework.set_budget(%(name)s::text, %(amount)s::numeric, %(per)s::text, %(by)s::text)
