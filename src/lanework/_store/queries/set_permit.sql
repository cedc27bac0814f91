select before, after from lanework.set_permit(%(name)s::text, %(capacity)s::int, %(by)s::text)
