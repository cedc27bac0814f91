select c.id, c.label, c.type, c.description, c.search_terms, c.seen_count
from kg.concepts c where c.ontology_id = %(ontology)s and c.id > %(after)s
order by c.id limit %(limit)s
