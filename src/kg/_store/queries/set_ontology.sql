-- `for update`: whoever is accepting a document into it is done before it is frozen.
with was as materialized (select * from kg.ontologies where name = %(name)s for update),
done as (
    update kg.ontologies o set state = coalesce(%(state)s, o.state), description = coalesce(%(description)s, o.description), epoch = o.epoch + 1
    from was where o.id = was.id returning o.id, o.state, o.description, o.epoch
), told as (
    insert into kg.epochs (ontology_id, epoch, kind, actor, detail)
    select d.id, d.epoch, 'ontology.set', %(by)s, jsonb_build_object('state', d.state) from done d
)
select d.id, lanework.audit(%(by)s, 'ontology.set', 'ontology:' || was.name,
                            jsonb_build_object('state', was.state, 'description', was.description),
                            jsonb_build_object('state', d.state, 'description', d.description))
from done d join was on was.id = d.id
