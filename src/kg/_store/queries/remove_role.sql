select kg.remove_role(%(name)s, %(by)s)
