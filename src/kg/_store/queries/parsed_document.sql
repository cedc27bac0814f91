-- Offsets of chunks that are there count in the text that is there: readers have it until this version is done.
update kg.documents d
set text_hash = case when x.seen then d.text_hash else %(hash)s end, next_text_hash = case when x.seen then %(hash)s::bytea end,
    characters = case when x.seen then d.characters else %(characters)s end, title = case when x.seen then d.title else %(title)s end,
    media_type = %(media_type)s, stage = 'chunk', updated_at = now()
from (select exists (select from kg.sources s where s.document_id = %(id)s) as seen) x
where d.id = %(id)s and d.version = %(version)s
returning d.id
