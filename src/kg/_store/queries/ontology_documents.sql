select id from kg.documents where ontology_id = %(ontology)s order by id
