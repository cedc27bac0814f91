-- A duplicate's text is that of the document which has its content, as soon as its own is gone.
select b.data
from kg.documents d
left join kg.documents o on o.id = d.duplicate_of
join kg.blobs b on b.hash = coalesce(d.text_hash, o.text_hash)
where d.id = %(id)s
