select ontology_id from kg.decisions where act = %(act)s and undone_at is null limit 1
