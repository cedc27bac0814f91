-- Puts the vectors of some passages into the index; as `index_concepts`.
with mine as materialized (
    select p.id, p.ontology_id, p.space, l2_normalize(p.embedding)::halfvec as embedding
    from kg.unindexed_passages u join kg.passages p on p.id = u.passage_id
    where not exists (select from kg.unindexed_passages o where o.passage_id = u.passage_id and o.id < u.id)
    order by u.id limit %(limit)s
    for update of u skip locked for key share of p skip locked
), noted as (
    delete from kg.unindexed_passages u using mine m where u.passage_id = m.id
), put as (
    insert into kg.indexed_passages as i (passage_id, ontology_id, space, embedding)
    select m.id, m.ontology_id, m.space, m.embedding from mine m where m.space is not null and m.embedding is not null
    on conflict (passage_id) do update set space = excluded.space, embedding = excluded.embedding
    where (i.space, i.embedding) is distinct from (excluded.space, excluded.embedding)
)
select count(*) from mine
