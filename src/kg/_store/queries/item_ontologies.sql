-- The ontologies that have pieces without a graph, of those that can be seen.
select o.id from kg.ontologies o
where (%(ontologies)s::bigint[] is null or o.id = any (%(ontologies)s::bigint[])) and exists (
    select from kg.document_items i where i.ontology_id = o.id and (%(collection)s::text is null or i.collection = %(collection)s))
