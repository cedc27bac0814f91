select form, count(*) as sources
from (select m.label as form from kg.names n join kg.mentions m on m.name_id = n.id where n.concept_id = %(id)s limit 10000) some_of_them
group by form order by sources desc, form limit %(limit)s
