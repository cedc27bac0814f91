select id from kg.names where ontology_id = %(ontology)s and form = any (%(forms)s::text[])
