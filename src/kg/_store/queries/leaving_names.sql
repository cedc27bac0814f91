-- Some names that chunks which are to go speak of: those of the first few such chunks that say anything.
select s.name_id
from kg.leaving l
cross join lateral (
    select m.name_id from kg.mentions m where m.source_id = l.source_id
    union select i.name_id from kg.instances i where i.source_id = l.source_id
    union select c.from_name from kg.claims c where c.source_id = l.source_id
    union select c.to_name from kg.claims c where c.source_id = l.source_id) s
where l.ontology_id = %(ontology)s
limit %(limit)s
