with gone as (
    delete from kg.claims c where c.source_id = any (%(sources)s::bigint[]) returning c.from_name, c.to_name, c.type
)
select distinct c.from_name, c.to_name, c.type, f.concept_id, t.concept_id
from gone c join kg.names f on f.id = c.from_name join kg.names t on t.id = c.to_name
