select id, name from kg.ontologies where name = %(name)s for update
