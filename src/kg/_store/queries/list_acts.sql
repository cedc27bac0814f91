select act, decision, array_agg(array[one, other] order by id), min(decided_by), min(decided_at), min(undone_by), min(undone_at)
from kg.decisions where ontology_id = %(ontology)s and (%(before)s::bigint is null or act < %(before)s)
group by act, decision order by act desc limit %(limit)s
