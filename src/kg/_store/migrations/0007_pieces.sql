-- To put a vector into an HNSW index takes longer than all else that a chunk does, and longer the more are in it. Whoever writes an
-- ontology does not do it under its lock any more: concepts whose vectors are new are noted down, and whoever has committed puts a few
-- of them into the index (`index_concepts.sql`). Until then a search compares them one by one.

-- The vectors of concepts, as far as they are in the index. Right unless the concept stands in `unindexed` too. Half the digits are
-- enough to find a row, and half the pages to walk; the order of what was found is made with the concept's own vector.
create table kg.indexed (
    concept_id bigint primary key references kg.concepts (id) on delete cascade,
    ontology_id bigint not null,
    space smallint not null references kg.spaces (id),
    embedding halfvec not null
);

-- Concepts whose vectors have changed since. In the order of their coming: the same one may stand here twice, and the first goes first.
create table kg.unindexed (
    id bigint generated always as identity primary key,
    concept_id bigint not null references kg.concepts (id) on delete cascade,
    ontology_id bigint not null
);
create index on kg.unindexed (concept_id);
create index on kg.unindexed (ontology_id);

create function kg.concept_unindexed() returns trigger language plpgsql as $$
begin
    insert into kg.unindexed (concept_id, ontology_id) values (new.id, new.ontology_id);
    return null;
end $$;

create trigger unindexed_new after insert on kg.concepts for each row
when (new.embedding is not null) execute function kg.concept_unindexed();
create trigger unindexed_again after update on kg.concepts for each row
when (new.embedding is not null and (old.space, old.lead, old.rank) is distinct from (new.space, new.lead, new.rank))
execute function kg.concept_unindexed();

insert into kg.indexed (concept_id, ontology_id, space, embedding)
select id, ontology_id, space, l2_normalize(embedding)::halfvec from kg.concepts where embedding is not null and space is not null;

create function kg.make_index(p_table text, p_space smallint, p_dimensions int) returns void
language plpgsql volatile as $$
declare
    v_kind text := case when p_table = 'indexed' then 'halfvec(' || p_dimensions || ')' else kg.vector_type(p_dimensions) end;
begin
    execute format('create index %I on kg.%I using hnsw ((embedding::%s) %s) where space = %s',
        p_table || '_near_' || p_space, p_table, v_kind, split_part(v_kind, '(', 1) || '_cosine_ops', p_space);
end $$;

do $$
declare
    s kg.spaces%rowtype;
begin
    for s in select * from kg.spaces loop
        execute format('drop index if exists kg.%I', 'concepts_near_' || s.id);
        perform kg.make_index('indexed', s.id, s.dimensions);
    end loop;
end $$;

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
            perform kg.make_index(t, s.id, s.dimensions) from unnest(array['indexed', 'passages', 'items']) t;
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
-- walk past the others' rows for it. In one statement, so that a concept that is put into the index meanwhile is seen once.
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
    if p_table = 'concepts' then
        return query execute format(
            'with new as materialized (select distinct concept_id as id from kg.unindexed where true %4$s),
             near as materialized (select concept_id as id from kg.indexed where space = %3$s %4$s
                 order by embedding::halfvec(%2$s) <=> $1::halfvec(%2$s) limit $3 + 10),
             found as materialized (select c.id, %1$s as far
                 from (select id from near where id not in (select id from new) union all select id from new) f
                 join kg.concepts c on c.id = f.id where c.space = %3$s)
             select id, (1 - far)::real from found order by far, id limit $3', v_near, s.dimensions, s.id, v_here)
        using p_vector, p_ontologies, p_limit;
        return;
    end if;
    return query execute format(
        'with near as materialized (select id, %1$s as far from kg.%2$I where space = %3$s %4$s order by %1$s limit $3)
         select id, (1 - far)::real from near order by far, id', v_near, p_table, s.id, v_here)
    using p_vector, p_ontologies, p_limit;
end $$;

-- Chunks of a large document that goes. They have no document any more, so nobody finds them or writes for them; what they said is taken
-- out in pieces, and the lock of the ontology is free between two of them (`kg.graph.leaving`).
alter table kg.sources alter column document_id drop not null;
create table kg.leaving (
    source_id bigint primary key references kg.sources (id) on delete cascade,
    ontology_id bigint not null references kg.ontologies (id) on delete cascade
);
create index on kg.leaving (ontology_id, source_id);
