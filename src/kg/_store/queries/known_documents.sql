-- The document of this content, and the one of this key.
select id, hash = %(hash)s, job_id, owner from kg.documents
where ontology_id = %(ontology)s and (hash = %(hash)s or key = %(key)s)
order by id for update
