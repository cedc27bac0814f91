-- Everybody whose concept can change with these names or concepts: over names that are alike, that people put together, or that were
-- one concept so far.
with recursive reached (id) as (
    (select unnest(%(names)s::bigint[]) union select n.id from kg.names n where n.concept_id = any (%(concepts)s::bigint[]))
    union
    select x.id from reached r
    cross join lateral (select n.id, n.ontology_id, n.form, n.concept_id from kg.names n where n.id = r.id offset 0) n
    cross join lateral (
        select l.other from kg.likes l where l.one = n.id and l.outcome = 'same'
        union all select l.one from kg.likes l where l.other = n.id and l.outcome = 'same'
        union all select o.id from kg.names o where o.concept_id = n.concept_id
        union all select o.id from kg.decisions d join kg.names o on o.ontology_id = d.ontology_id and o.form = d.other
            where d.ontology_id = n.ontology_id and d.one = n.form and d.decision = 'same' and d.undone_at is null
        union all select o.id from kg.decisions d join kg.names o on o.ontology_id = d.ontology_id and o.form = d.one
            where d.ontology_id = n.ontology_id and d.other = n.form and d.decision = 'same' and d.undone_at is null
    ) x (id)
)
select n.id, n.form, n.label, n.type, k.keys, n.concept_id, n.seen
from reached r join kg.names n on n.id = r.id join kg.marks k on k.name_id = n.id
order by n.form
