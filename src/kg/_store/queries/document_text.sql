-- A duplicate's text is that of the document which has its content.
select b.data
from kg.documents d
left join kg.documents o on o.id = d.duplicate_of
join kg.blobs b on b.hash = coalesce(o.text_hash, d.text_hash)
where d.id = %(id)s
