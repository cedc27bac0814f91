-- These chunks have no document any more, and are to go. Whoever is storing one of them now is waited for.
with held as (
    update kg.sources set document_id = null where id = any (%(sources)s::bigint[]) and document_id is not null returning id
)
insert into kg.leaving (source_id, ontology_id) select id, %(ontology)s from held
