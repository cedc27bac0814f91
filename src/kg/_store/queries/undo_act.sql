with undone as (
    update kg.decisions d set undone_at = now(), undone_by = %(by)s where d.act = %(act)s and d.undone_at is null
    returning d.ontology_id, d.one, d.other
)
select array_agg(u.one) || array_agg(u.other),
       lanework.audit(%(by)s, 'graph.undo', 'ontology:' || u.ontology_id, jsonb_build_object('act', %(act)s, 'pairs', count(*)))
from undone u group by u.ontology_id
