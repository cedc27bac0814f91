-- Whoever writes for this version holds the document: nobody deletes or replaces it meanwhile.
select ontology_id from kg.documents where id = %(id)s and version = %(version)s for update
