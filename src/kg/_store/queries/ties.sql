-- What speaks for or against two of these names being one.
select l.one, l.other, l.outcome, l.score from kg.likes l
where l.one = any (%(names)s::bigint[]) and l.other = any (%(names)s::bigint[]) and l.outcome = 'same'
union all
select a.id, b.id, 'decided ' || d.decision, 1.0
from kg.names a
join kg.decided d on d.ontology_id = %(ontology)s and d.one = a.form
join kg.names b on b.ontology_id = %(ontology)s and b.form = d.other
where a.id = any (%(names)s::bigint[]) and b.id = any (%(names)s::bigint[])
