insert into kg.items (collection, id, text, meta, space, embedding, document_id)
select %(collection)s, i.id, i.text, i.meta, %(space)s, i.embedding::vector, %(document)s
from unnest(%(ids)s::text[], %(texts)s::text[], %(metas)s::jsonb[], %(vectors)s::text[]) as i (id, text, meta, embedding)
on conflict (collection, id) do update set
    text = excluded.text, meta = excluded.meta, space = excluded.space, embedding = excluded.embedding, document_id = excluded.document_id
