with gone as (delete from kg.items where collection = %(collection)s and id = any (%(ids)s::text[]) returning 1)
select count(*) from gone
