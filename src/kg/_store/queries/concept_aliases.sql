select form, count(*) as sources
from (select m.label as form from kg.names n join kg.mentions m on m.name_id = n.id
      where n.concept_id = %(id)s and not exists (select from kg.leaving l where l.source_id = m.source_id) limit 10000) some_of_them
group by form order by sources desc, form limit %(limit)s
