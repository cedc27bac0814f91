delete from kg.documents where id = %(document)s
