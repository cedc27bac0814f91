with made as (
    insert into kg.ontologies (name, description, created_by) values (%(name)s, %(description)s, %(by)s)
    on conflict (name) do nothing returning id, name, state, created_by
)
select m.id, m.state, m.created_by, lanework.audit(%(by)s, 'ontology.create', 'ontology:' || m.name) from made m
