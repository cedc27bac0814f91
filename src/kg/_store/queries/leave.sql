-- These chunks have no document any more, and are to go. Whoever is storing one of them now is waited for. Their passages go at once: a
-- search that finds the nearest few must not find those of which nothing can be shown.
with held as (
    update kg.sources set document_id = null where id = any (%(sources)s::bigint[]) and document_id is not null returning id
), passages as (
    delete from kg.passages p using held h where p.source_id = h.id
)
insert into kg.leaving (source_id, ontology_id) select id, %(ontology)s from held
