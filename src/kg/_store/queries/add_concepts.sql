with given as (
    select * from unnest(%(ids)s::bigint[], %(forms)s::text[]) as g (id, form)
), back as (
    delete from kg.concept_moves m using given g where m.old_id = g.id
)
insert into kg.concepts (id, ontology_id, label, first_epoch)
select coalesce(g.id, nextval(pg_get_serial_sequence('kg.concepts', 'id'))), %(ontology)s, g.form, %(epoch)s from given g
returning id, label
