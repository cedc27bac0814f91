-- The document that has this content, held: it does not change before whoever asks has pointed to it.
select d.id from kg.documents d
where d.ontology_id = %(ontology)s and d.hash = %(hash)s and d.duplicate_of is null and d.id <> %(id)s
for update
