-- Nobody's for an hour: what a document being accepted uses was touched by it.
with gone as (
    delete from kg.blobs b where b.used_at < now() - interval '1 hour'
        and not exists (select from kg.documents d where d.hash = b.hash) and not exists (select from kg.documents d where d.text_hash = b.hash)
        and not exists (select from kg.documents d where d.next_text_hash = b.hash)
    returning 1)
select count(*) from gone
