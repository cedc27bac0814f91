-- A chunk of this version: counted as done, with its text and its passages. Nobody deletes or replaces its document before this
-- transaction has ended.
with document as (
    update kg.documents set chunks_done = chunks_done + 1, stage = %(stage)s, updated_at = now()
    where id = %(document)s and version = %(version)s
    returning id, version, ontology_id
), source as (
    insert into kg.sources (document_id, hash, copy, ordinal, start, own, finish, text, version, extractor, dropped)
    select d.id, %(hash)s, %(copy)s, %(ordinal)s, %(start)s, %(own)s, %(finish)s, %(text)s, d.version, %(extractor)s, %(dropped)s
    from document d
    on conflict (document_id, hash, copy) do update set version = excluded.version
    returning id
), passages as (
    insert into kg.passages (source_id, ontology_id, ordinal, start, finish, text, space, embedding)
    select s.id, d.ontology_id, x.ordinal - 1, x.start, x.finish, x.text, %(space)s, x.embedding::vector
    from document d, source s,
        unnest(%(starts)s::int[], %(finishes)s::int[], %(texts)s::text[], %(embeddings)s::text[])
            with ordinality as x(start, finish, text, embedding, ordinal)
    on conflict (source_id, ordinal) do nothing
)
-- This commit need not wait for the disk: if it is lost, `finish_document` notices, and the answers are stored.
select d.ontology_id, s.id, set_config('synchronous_commit', 'off', true) from document d, source s
