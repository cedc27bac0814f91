select r.id, r.from_id, r.to_id, r.type, r.tier, r.direction, r.confidence, r.evidence
from kg.relations r where r.ontology_id = %(ontology)s and r.id > %(after)s
order by r.id limit %(limit)s
