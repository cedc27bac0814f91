select lanework.hint(cast(%(lane)s as text))
