-- Is what came what the document has already?
select hash = %(hash)s and duplicate_of is null from kg.documents where id = %(id)s and version = %(version)s for update
