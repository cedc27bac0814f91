-- Some names of one ontology and one space whose bands are not made yet: the first few that there are. Chosen before anything else is
-- read of them: a join that walks along all names walks past those that are done, again for each piece.
with first as materialized (
    select ontology_id, space from kg.marks where corners is null order by ontology_id, space, name_id limit 1
), chosen as materialized (
    select k.* from first f
    cross join lateral (
        select k.ontology_id, k.space, k.name_id from kg.marks k
        where k.ontology_id = f.ontology_id and k.space = f.space and k.corners is null order by k.ontology_id, k.space, k.name_id limit %(limit)s) k
)
select s.ontology_id, s.space, s.name_id, n.rank, v.embedding::real[]
from chosen s
cross join lateral (select n.rank from kg.names n where n.id = s.name_id offset 0) n
cross join lateral (select v.embedding from kg.meanings v where v.name_id = s.name_id offset 0) v
