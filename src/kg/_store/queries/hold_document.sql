select d.id, d.version, d.job_id, d.ontology_id, d.owner, d.awaits_fetch, array_remove(array[d.hash, d.text_hash, d.next_text_hash], null)
from kg.documents d where d.id = %(id)s for update
