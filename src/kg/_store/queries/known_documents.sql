-- The document that has this content, and the one of this key.
select id, coalesce(hash = %(hash)s, false) as same, coalesce(key = %(key)s, false) as named, duplicate_of, awaits_fetch, job_id, owner
from kg.documents
where ontology_id = %(ontology)s and (hash = %(hash)s and duplicate_of is null or key = %(key)s)
order by id for update
