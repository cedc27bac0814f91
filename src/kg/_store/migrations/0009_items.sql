-- Documents without a graph are searched like the others: by meaning, and by words.
alter table kg.items
    add column no bigint generated always as identity unique,
    add column words tsvector generated always as (to_tsvector('english', text)) stored;
create index on kg.items using gin (words);
create index on kg.items (collection);

-- What documents without a graph are made of, for `kg.find_near` and `kg.find_text`. What somebody's own code has put into a collection
-- is nobody's document: nobody's rights say who may see it, and it is found from code alone.
create view kg.document_items as
select i.no as id, d.ontology_id, i.space, i.embedding, i.words, i.collection
from kg.items i join kg.documents d on d.id = i.document_id;
