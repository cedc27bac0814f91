select id, version, owner from kg.pass_on(%(id)s)
