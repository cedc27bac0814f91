with given as (
    select * from unnest(%(forms)s::text[], %(labels)s::text[]) as g (form, label)
), added as (
    insert into kg.names (ontology_id, form, label)
    select %(ontology)s, g.form, g.label from given g order by g.form collate "C"
    on conflict (ontology_id, form) do nothing
    returning id, form
)
select id, form from added
union all
select n.id, n.form from kg.names n where n.ontology_id = %(ontology)s and n.form = any (%(forms)s::text[])
