insert into kg.items (collection, id, text, meta, space, embedding, document_id, source_id)
select %(collection)s, x.id, x.text, x.meta::jsonb, %(space)s, x.embedding::vector, %(document)s, %(source)s
from unnest(%(ids)s::text[], %(texts)s::text[], %(metas)s::text[], %(embeddings)s::text[]) as x(id, text, meta, embedding)
on conflict (collection, id) do update set text = excluded.text, meta = excluded.meta, space = excluded.space, embedding = excluded.embedding,
    document_id = excluded.document_id, source_id = excluded.source_id
