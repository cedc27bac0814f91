select epoch from kg.ontologies where id = %(ontology)s
