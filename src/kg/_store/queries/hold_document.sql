select d.id, d.version, d.job_id, d.ontology_id, d.hash, d.text_hash, d.name, d.owner from kg.documents d where d.id = %(id)s for update
