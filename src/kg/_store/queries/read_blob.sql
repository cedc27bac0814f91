select data from kg.blobs where hash = %(hash)s
