select data from lanework.blobs where hash = %(hash)s::text
