-- Vectors of passages get into their index after the commit, as those of concepts do (0007): it was the dearest part of storing a chunk,
-- and dearer the more passages there are. A search compares those that are not in it yet one by one.
create table kg.indexed_passages (
    passage_id bigint primary key references kg.passages (id) on delete cascade,
    ontology_id bigint not null,
    space smallint not null references kg.spaces (id),
    embedding halfvec not null
);

-- In the order of their coming, as `unindexed`.
create table kg.unindexed_passages (
    id bigint generated always as identity primary key,
    passage_id bigint not null references kg.passages (id) on delete cascade,
    ontology_id bigint not null
);
create index on kg.unindexed_passages (passage_id);
create index on kg.unindexed_passages (ontology_id);

create function kg.passage_unindexed() returns trigger language plpgsql as $$
begin
    insert into kg.unindexed_passages (passage_id, ontology_id) values (new.id, new.ontology_id);
    return null;
end $$;

create trigger unindexed_new after insert on kg.passages for each row
when (new.embedding is not null and new.space is not null) execute function kg.passage_unindexed();
-- A passage that moves in its document keeps its vector: this looks at who writes the vector, and not at every update.
create trigger unindexed_again after update of space, embedding on kg.passages for each row
when (new.embedding is not null and new.space is not null) execute function kg.passage_unindexed();

insert into kg.indexed_passages (passage_id, ontology_id, space, embedding)
select id, ontology_id, space, l2_normalize(embedding)::halfvec from kg.passages where embedding is not null and space is not null;

create or replace function kg.make_index(p_table text, p_space smallint, p_dimensions int) returns void
language plpgsql volatile as $$
declare
    v_kind text := case when starts_with(p_table, 'indexed') then 'halfvec(' || p_dimensions || ')' else kg.vector_type(p_dimensions) end;
begin
    execute format('create index %I on kg.%I using hnsw ((embedding::%s) %s) where space = %s',
        p_table || '_near_' || p_space, p_table, v_kind, split_part(v_kind, '(', 1) || '_cosine_ops', p_space);
end $$;

do $$
declare
    s kg.spaces%rowtype;
begin
    for s in select * from kg.spaces loop
        execute format('drop index if exists kg.%I', 'passages_near_' || s.id);
        perform kg.make_index('indexed_passages', s.id, s.dimensions);
    end loop;
end $$;

-- As in 0007 but for the tables.
create or replace function kg.use_space(p_model text, p_dimensions int) returns smallint
language plpgsql volatile as $$
declare
    s kg.spaces%rowtype;
begin
    select * into s from kg.spaces where model = p_model;
    if not found then
        perform pg_advisory_xact_lock(hashtextextended('kg.spaces', 0));
        insert into kg.spaces (model, dimensions) values (p_model, p_dimensions) on conflict (model) do nothing returning * into s;
        if found then
            perform kg.make_index(t, s.id, s.dimensions) from unnest(array['indexed', 'indexed_passages', 'items']) t;
        else
            select * into s from kg.spaces where model = p_model;
        end if;
    end if;
    if s.dimensions <> p_dimensions then
        raise exception 'vectors of % have % dimensions, not %', p_model, s.dimensions, p_dimensions using errcode = 'data_exception';
    end if;
    return s.id;
end $$;

-- The nearest rows of a table by cosine. An ontology that is small is compared as a whole: an index over all of them would have to
-- walk past the others' rows for it. In one statement, so that what is put into the index meanwhile is seen once.
create or replace function kg.find_near(p_table text, p_model text, p_vector text, p_ontologies bigint[], p_limit int, p_ef int)
returns table (id bigint, score real)
language plpgsql volatile set enable_seqscan = off as $$
declare
    s kg.spaces%rowtype;
    v_near text;
    v_here text := case when p_ontologies is not null then 'and ontology_id = any ($2)' else '' end;
    v_rows int := kg.few() + 1;
begin
    select * into s from kg.spaces where model = p_model;
    if not found or p_vector is null then return; end if;
    v_near := format('embedding::%1$s <=> $1::%1$s', kg.vector_type(s.dimensions));
    if p_ontologies is not null then
        execute format('select count(*) from (select from kg.%I where ontology_id = any ($1) limit $2) few', p_table)
        into v_rows using p_ontologies, v_rows;
    end if;
    if v_rows <= kg.few() then
        return query execute format(
            'with few as materialized (select id, embedding from kg.%I where ontology_id = any ($2) and space = %s)
             select id, (1 - (%s))::real from few order by %3$s, id limit $3', p_table, s.id, v_near)
        using p_vector, p_ontologies, p_limit;
        return;
    end if;
    perform set_config('hnsw.ef_search', least(greatest(p_ef, p_limit + 10), 1000)::text, true),
            set_config('hnsw.iterative_scan', case when p_ontologies is null then 'off' else 'relaxed_order' end, true),
            set_config('hnsw.max_scan_tuples', '40000', true);
    if p_table in ('concepts', 'passages') then
        return query execute format(
            'with new as materialized (select distinct %6$I as id from kg.%8$I where true %4$s),
             near as materialized (select %6$I as id from kg.%7$I where space = %3$s %4$s
                 order by embedding::halfvec(%2$s) <=> $1::halfvec(%2$s) limit $3 + 10),
             found as materialized (select c.id, %1$s as far
                 from (select id from near where id not in (select id from new) union all select id from new) f
                 join kg.%5$I c on c.id = f.id where c.space = %3$s)
             select id, (1 - far)::real from found order by far, id limit $3',
            v_near, s.dimensions, s.id, v_here, p_table,
            case p_table when 'concepts' then 'concept_id' else 'passage_id' end,
            case p_table when 'concepts' then 'indexed' else 'indexed_passages' end,
            case p_table when 'concepts' then 'unindexed' else 'unindexed_passages' end)
        using p_vector, p_ontologies, p_limit;
        return;
    end if;
    return query execute format(
        'with near as materialized (select id, %1$s as far from kg.%2$I where space = %3$s %4$s order by %1$s limit $3)
         select id, (1 - far)::real from near order by far, id', v_near, p_table, s.id, v_here)
    using p_vector, p_ontologies, p_limit;
end $$;
