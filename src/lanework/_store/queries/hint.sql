select lanework.hint(%(lane)s::text)
