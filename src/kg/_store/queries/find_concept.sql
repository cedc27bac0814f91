-- The concept of this id, or the one that it went to; with its forms, the one that leads it first.
select c.id, c.ontology_id, array_agg(n.form order by n.id <> c.lead, n.form)
from kg.concepts c join kg.names n on n.concept_id = c.id
where c.id = coalesce((select m.new_id from kg.concept_moves m where m.old_id = %(id)s), %(id)s)
group by c.id
