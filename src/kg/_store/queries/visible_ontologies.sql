select id, name from kg.ontologies
where (%(name)s::text is null or name = %(name)s)
  and (%(all)s or name = any (%(names)s::text[]) or (%(owner)s::text is not null and created_by = %(owner)s))
order by id
