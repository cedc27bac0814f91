delete from kg.concepts c
where c.id = any (%(concepts)s::bigint[]) and not exists (select from kg.names n where n.concept_id = c.id)
