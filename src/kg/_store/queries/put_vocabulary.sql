insert into kg.vocabulary (type) select t from unnest(%(types)s::text[]) t order by t collate "C" on conflict (type) do nothing
