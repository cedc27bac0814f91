-- Of these names, all that is alike is given here.
with given as (
    select * from unnest(%(ones)s::bigint[], %(others)s::bigint[], %(outcomes)s::text[], %(scores)s::float8[]) as g (one, other, outcome, score)
), gone as (
    delete from kg.likes l
    where (l.one = any (%(names)s::bigint[]) or l.other = any (%(names)s::bigint[]))
      and not exists (select from given g where g.one = l.one and g.other = l.other)
)
insert into kg.likes as l (ontology_id, one, other, outcome, score)
select %(ontology)s, g.one, g.other, g.outcome, g.score from given g
on conflict (one, other) do update set outcome = excluded.outcome, score = excluded.score
where (l.outcome, l.score) is distinct from (excluded.outcome, excluded.score)
