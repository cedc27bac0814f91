-- Whoever is accepting the same content holds its row, and waits for the document that goes: he is not waited for, his blob stays.
with free as materialized (select b.hash from kg.blobs b where b.hash = any (%(hashes)s::bytea[]) order by b.hash for update skip locked)
delete from kg.blobs b using free f
where b.hash = f.hash and not exists (select from kg.documents d where d.hash = b.hash)
  and not exists (select from kg.documents d where d.text_hash = b.hash)
  and not exists (select from kg.documents d where d.next_text_hash = b.hash)
