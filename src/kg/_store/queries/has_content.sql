-- Is what came what the document has already?
select coalesce(hash = %(hash)s, false) and duplicate_of is null from kg.documents where id = %(id)s and version = %(version)s for update
