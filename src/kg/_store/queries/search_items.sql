-- Pieces of documents without a graph, with what each half of the search says.
with near as (
    select id, score from kg.find_near('document_items', %(model)s, %(vector)s, %(ontologies)s::bigint[], %(depth)s, %(ef)s)
), words as (
    select id, score from kg.find_text('document_items', %(words)s, %(ontologies)s::bigint[], %(depth)s) where %(words)s::text is not null
), found as (
    select id, near.score as likeness, words.score as words from near full join words using (id)
)
select i.no, o.name, d.id, d.name, d.title, i.source_id, (i.meta ->> 'start')::int, (i.meta ->> 'finish')::int, i.text, i.collection,
       f.likeness, f.words
from found f
-- each by its id: joined, a plan would read all of them
cross join lateral (select * from kg.items i where i.no = f.id offset 0) i
cross join lateral (select * from kg.documents d where d.id = i.document_id offset 0) d
join kg.ontologies o on o.id = d.ontology_id
where %(collection)s::text is null or i.collection = %(collection)s
order by i.no
