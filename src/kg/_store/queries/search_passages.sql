with near as (
    select id, score, row_number() over (order by score desc, id) as place
    from kg.find_near('passages', %(model)s, %(vector)s, %(ontologies)s::bigint[], %(depth)s, %(ef)s)
), words as (
    select id, score, row_number() over (order by score desc, id) as place
    from kg.find_text('passages', %(words)s, %(ontologies)s::bigint[], %(depth)s) where %(words)s::text is not null
), best as (
    select id, case when %(vector)s::text is null then words.score when %(words)s::text is null then near.score
               else coalesce(1.0 / (60 + near.place), 0) + coalesce(1.0 / (60 + words.place), 0) end::real as score
    from near full join words using (id)
    order by score desc, id limit %(limit)s
)
select p.id, o.name, d.id, d.name, d.title, s.id, p.start, p.finish, p.text, best.score
from best
join kg.passages p on p.id = best.id
join kg.ontologies o on o.id = p.ontology_id
join kg.sources s on s.id = p.source_id
join kg.documents d on d.id = s.document_id
order by best.score desc, p.id
