-- The concepts nearest to any of the vectors, as of an epoch: what came into the ontology since then is not known yet.
select c.label, c.description
from (
    select f.id, max(f.score) as score
    from unnest(%(vectors)s::text[]) as v (vector)
    cross join lateral kg.find_near('concepts', %(model)s, v.vector, array[%(ontology)s::bigint], %(each)s, 40) f
    group by f.id) n
join kg.concepts c on c.id = n.id
where c.first_epoch <= %(epoch)s and n.score >= %(least)s
order by n.score desc, c.id limit %(limit)s
