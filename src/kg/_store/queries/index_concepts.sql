-- Puts the vectors of some concepts into the index. Waits for nobody, and nobody can make it write an old vector over a new one: of a
-- concept that stands in the list twice the first row is held, and while somebody holds it no other one is taken. Answers how many
-- were looked at.
with mine as materialized (
    select c.id, c.ontology_id, c.space, l2_normalize(c.embedding)::halfvec as embedding
    from kg.unindexed u join kg.concepts c on c.id = u.concept_id
    where not exists (select from kg.unindexed o where o.concept_id = u.concept_id and o.id < u.id)
    order by u.id limit %(limit)s
    for update of u skip locked for key share of c skip locked
), noted as (
    delete from kg.unindexed u using mine m where u.concept_id = m.id
), put as (
    insert into kg.indexed as i (concept_id, ontology_id, space, embedding)
    select m.id, m.ontology_id, m.space, m.embedding from mine m where m.space is not null
    on conflict (concept_id) do update set space = excluded.space, embedding = excluded.embedding
    where (i.space, i.embedding) is distinct from (excluded.space, excluded.embedding)
)
select count(*) from mine
