with act as (
    select nextval('kg.acts') as id
), said as (
    insert into kg.decisions (ontology_id, one, other, decision, act, decided_by)
    select %(ontology)s, g.one, g.other, %(decision)s, a.id, %(by)s
    from unnest(%(ones)s::text[], %(others)s::text[]) as g (one, other) cross join act a
)
select a.id, lanework.audit(%(by)s, %(what)s, 'ontology:' || %(ontology)s, null,
    jsonb_build_object('act', a.id, 'pairs', cardinality(%(ones)s::text[]), 'one', (%(ones)s::text[])[1], 'other', (%(others)s::text[])[1]))
from act a
