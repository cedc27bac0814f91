select kg.set_ontology(%(name)s, %(state)s, %(description)s, %(by)s)
