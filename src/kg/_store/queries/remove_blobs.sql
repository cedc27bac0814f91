delete from kg.blobs b where b.hash = any (%(hashes)s::bytea[])
    and not exists (select from kg.documents d where d.hash = b.hash) and not exists (select from kg.documents d where d.text_hash = b.hash)
    and not exists (select from kg.documents d where d.next_text_hash = b.hash)
