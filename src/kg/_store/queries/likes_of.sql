select l.one, l.other, l.outcome, l.score from kg.likes l where l.one = any (%(names)s::bigint[])
union
select l.one, l.other, l.outcome, l.score from kg.likes l where l.other = any (%(names)s::bigint[])
