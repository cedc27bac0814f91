select o.id, o.name, o.description, o.state, o.epoch, o.created_by, o.created_at,
       (select count(*) from kg.documents d where d.ontology_id = o.id),
       (select count(*) from kg.concepts c where c.ontology_id = o.id)
from kg.ontologies o
where (%(name)s::text is null or o.name = %(name)s) and (%(all)s or o.name = any (%(names)s::text[]) or o.created_by = %(owner)s or exists (
    select from kg.documents d where d.ontology_id = o.id and d.owner = %(owner)s))
order by o.name
