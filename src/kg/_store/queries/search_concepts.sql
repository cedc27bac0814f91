with near as (
    select id, score, row_number() over (order by score desc, id) as place
    from kg.find_near('concepts', %(model)s, %(vector)s, %(ontologies)s::bigint[], %(depth)s, %(ef)s)
), words as (
    select id, score, row_number() over (order by score desc, id) as place
    from kg.find_text('concepts', %(words)s, %(ontologies)s::bigint[], %(depth)s) where %(words)s::text is not null
), best as (
    select id, case when %(vector)s::text is null then words.score when %(words)s::text is null then near.score
               else coalesce(1.0 / (60 + near.place), 0) + coalesce(1.0 / (60 + words.place), 0) end::real as score,
           near.score as likeness, words.id is not null as has_words
    from near full join words using (id)
    order by score desc, id limit %(limit)s
)
select c.id, o.name, c.label, c.type, c.description, best.score, best.likeness, best.has_words, c.seen_count, m.grounding,
       m.diversity, q.*
from best
join kg.concepts c on c.id = best.id
join kg.ontologies o on o.id = c.ontology_id
left join kg.measure((select array_agg(id) from best), %(model)s) m on m.id = c.id
left join lateral kg.quotes(c.id, 1) q on true
order by best.score desc, c.id
