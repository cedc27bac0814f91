-- Those that are called so, the one of which most is said first; then what a search finds, with what each half of it says.
with named as (
    select distinct n.concept_id as id
    from kg.ontologies o
    join kg.names n on n.ontology_id = o.id and n.form = any (%(forms)s::text[])
    where n.concept_id is not null and (%(ontologies)s::bigint[] is null or o.id = any (%(ontologies)s::bigint[]))
), near as (
    select id, score, row_number() over (order by score desc, id) as place
    from kg.find_near('concepts', %(model)s, %(vector)s, %(ontologies)s::bigint[], %(depth)s, %(ef)s)
), words as (
    select id, score, row_number() over (order by score desc, id) as place
    from kg.find_text('concepts', %(words)s, %(ontologies)s::bigint[], %(depth)s)
), found as (
    select id, named.id is not null as named, near.score as likeness, words.score as words,
           coalesce(1.0 / (60 + near.place), 0) + coalesce(1.0 / (60 + words.place), 0) as score
    from near full join words using (id) full join named using (id)
)
select c.id, o.name, c.label, f.named, f.likeness, f.words
from found f
-- each by its id: joined, a plan would read all of them
cross join lateral (select c.id, c.label, c.ontology_id, c.seen_count from kg.concepts c where c.id = f.id offset 0) c
join kg.ontologies o on o.id = c.ontology_id
order by f.named desc, case when f.named then c.seen_count end desc, f.score desc, c.id
