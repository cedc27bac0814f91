-- Some names of one ontology and one space whose bands are not made yet. The first few that there are.
with first as (
    select ontology_id, space from kg.marks where corners is null order by ontology_id, space limit 1
)
select k.ontology_id, k.space, k.name_id, n.rank, v.embedding::real[]
from first f
join kg.marks k on k.ontology_id = f.ontology_id and k.space = f.space and k.corners is null
join kg.names n on n.id = k.name_id
join kg.meanings v on v.name_id = k.name_id
order by k.name_id limit %(limit)s
