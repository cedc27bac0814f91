-- The most alike first.
select p.id, a.form, a.label, a.context, a.concept_id, b.form, b.label, b.context, b.concept_id, p.score, p.created_at
from kg.proposals p join kg.names a on a.id = p.one join kg.names b on b.id = p.other
where p.ontology_id = %(ontology)s
  and (%(score)s::float8 is null or (p.score, -p.id) < (%(score)s::float8, -%(id)s::bigint))
order by p.score desc, p.id limit %(limit)s
