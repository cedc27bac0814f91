select kg.set_role(%(name)s, %(description)s, %(permissions)s::text[], %(scopes)s::text[], %(by)s)
