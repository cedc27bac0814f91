with mentions as (
    delete from kg.mentions m where m.source_id = any (%(sources)s::bigint[]) returning m.name_id
), instances as (
    delete from kg.instances i where i.source_id = any (%(sources)s::bigint[]) returning i.name_id
)
select name_id from mentions union select name_id from instances
