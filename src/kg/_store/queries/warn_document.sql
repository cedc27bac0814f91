-- What was doubtful when it was read stays with it. The row is held: its text was written in the same transaction.
update kg.documents set provenance = provenance - 'warnings' || %(warnings)s
where id = %(id)s and version = %(version)s
