select kg.set_user(%(name)s, %(password)s, %(roles)s::text[], %(disabled)s, %(by)s)
