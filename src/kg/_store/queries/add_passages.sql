insert into kg.passages (source_id, ontology_id, ordinal, start, finish, text, space, embedding)
select %(source)s, %(ontology)s, x.ordinal, x.start, x.finish, x.text, %(space)s, x.embedding::vector
from unnest(%(ordinals)s::int[], %(starts)s::int[], %(finishes)s::int[], %(texts)s::text[], %(embeddings)s::text[])
    as x(ordinal, start, finish, text, embedding)
on conflict (source_id, ordinal) do nothing
