with now as (update kg.ontologies set epoch = %(epoch)s where id = %(ontology)s)
insert into kg.epochs (ontology_id, epoch, kind, actor, job_id, detail)
values (%(ontology)s, %(epoch)s, %(kind)s, %(actor)s, %(job)s, %(detail)s::text::jsonb)
