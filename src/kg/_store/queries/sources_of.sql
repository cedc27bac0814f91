select d.ontology_id, coalesce(array_agg(s.id order by s.id) filter (where s.id is not null), '{}')
from kg.documents d left join kg.sources s on s.document_id = d.id
where d.id = %(document)s
group by d.ontology_id
