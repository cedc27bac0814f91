with made as (
    insert into kg.spaces (model, dimensions) values (%(model)s, %(dimensions)s) on conflict (model) do nothing returning id, dimensions
)
select id, dimensions from made union all select id, dimensions from kg.spaces where model = %(model)s limit 1
