select b.data from kg.documents d join kg.blobs b on b.hash = d.text_hash where d.id = %(id)s
