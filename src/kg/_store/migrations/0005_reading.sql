-- Reading the graph: indexes of vectors per space, searches with bounded work, what relation types say for or against.

-- So that the strongest few relations of a concept are read without its others, however many a hub has.
create index relations_out on kg.relations (from_id, confidence desc, id) include (to_id, type, tier, direction, ontology_id);
create index relations_in on kg.relations (to_id, confidence desc, id) include (from_id, type, tier, direction, ontology_id);
create index relations_of on kg.relations (ontology_id, id);
create index concepts_of on kg.concepts (ontology_id, id);
create index concepts_label on kg.concepts (lower(label) text_pattern_ops);
create index passages_of on kg.passages (ontology_id, id);
create index instances_of on kg.instances (name_id, source_id, start);

-- Where a concept went that is now part of another one; the writing side fills it.
create table if not exists kg.concept_moves (
    old_id bigint primary key,
    new_id bigint not null references kg.concepts (id) on delete cascade
);

-- Where a relation type stands between contradicting (-1) and supporting (1), as the embedder of a space sees its words.
create table kg.stances (
    type text not null references kg.vocabulary (type) on delete cascade on update cascade,
    space smallint not null references kg.spaces (id),
    stance real not null check (stance between -1 and 1),
    primary key (type, space)
);

create function kg.vector_type(p_dimensions int) returns text
language sql immutable as $$
    select case when p_dimensions <= 2000 then 'vector' else 'halfvec' end || '(' || p_dimensions || ')'
$$;

-- The space of a model; its indexes are made when it is first used. A vector of another length is refused by them.
create function kg.use_space(p_model text, p_dimensions int) returns smallint
language plpgsql volatile as $$
declare
    s kg.spaces%rowtype;
    v_kind text := kg.vector_type(p_dimensions);
    v_table text;
begin
    select * into s from kg.spaces where model = p_model;
    if not found then
        perform pg_advisory_xact_lock(hashtextextended('kg.spaces', 0));
        insert into kg.spaces (model, dimensions) values (p_model, p_dimensions) on conflict (model) do nothing returning * into s;
        if found then
            foreach v_table in array array['concepts', 'passages', 'items'] loop
                execute format('create index %I on kg.%I using hnsw ((embedding::%s) %s) where space = %s',
                    v_table || '_near_' || s.id, v_table, v_kind, split_part(v_kind, '(', 1) || '_cosine_ops', s.id);
            end loop;
        else
            select * into s from kg.spaces where model = p_model;
        end if;
    end if;
    if s.dimensions <> p_dimensions then
        raise exception 'vectors of % have % dimensions, not %', p_model, s.dimensions, p_dimensions using errcode = 'data_exception';
    end if;
    return s.id;
end $$;

-- At most so many rows are compared one by one; past that the index walks.
create function kg.few() returns int language sql immutable as 'select 1000';

-- Where a concept is spoken of: its first few places, each with some text around it. `start` and `finish` count in the document's text.
create function kg.quotes(p_concept bigint, p_limit int)
returns table (document_id bigint, document text, title text, source_id bigint, start int, finish int, around text, around_start int)
language sql stable as $$
    select d.id, d.name, d.title, s.id, i.start, i.finish,
        substr(s.text, greatest(i.start - s.start - 300, 0) + 1, i.finish - greatest(i.start - 300, s.start) + 300),
        greatest(i.start - 300, s.start)
    from (select i.* from kg.names n
          cross join lateral (select * from kg.instances i where i.name_id = n.id order by i.source_id, i.start limit p_limit) i
          where n.concept_id = p_concept order by i.source_id, i.start limit p_limit) i
    join kg.sources s on s.id = i.source_id
    join kg.documents d on d.id = s.document_id
    order by i.source_id, i.start
$$;

-- What a relation stands on: its surest claims, each with the place where the two names are nearest to each other.
create function kg.relation_quotes(p_relation bigint, p_limit int)
returns table (document_id bigint, document text, title text, source_id bigint, start int, finish int, around text, around_start int)
language sql stable as $$
    select d.id, d.name, d.title, s.id, p.start, p.finish,
        substr(s.text, greatest(p.start - s.start - 300, 0) + 1, p.finish - greatest(p.start - 300, s.start) + 300),
        greatest(p.start - 300, s.start)
    from (select c.* from kg.relations r
          join kg.names f on f.concept_id = r.from_id
          join kg.names t on t.concept_id = r.to_id
          join kg.claims c on c.from_name = f.id and c.to_name = t.id and c.type = r.type
          where r.id = p_relation order by c.confidence desc, c.source_id limit p_limit) c
    join kg.sources s on s.id = c.source_id
    join kg.documents d on d.id = s.document_id
    cross join lateral (
        select coalesce(pair.start, one.start, s.start) as start, coalesce(pair.finish, one.finish, least(s.start + 200, s.finish)) as finish
        from (values (1)) as always
        left join lateral (
            select least(f.start, t.start) as start, greatest(f.finish, t.finish) as finish
            from (select * from kg.instances i where i.source_id = c.source_id and i.name_id = c.from_name order by i.start limit 30) f
            cross join (select * from kg.instances i where i.source_id = c.source_id and i.name_id = c.to_name order by i.start limit 30) t
            -- in one sentence if they ever are
            order by substr(s.text, least(f.start, t.start) - s.start + 1, abs(f.start - t.start)) ~ '[.!?]\s|\n\n',
                abs(f.start - t.start), f.start limit 1) pair on true
        left join lateral (
            select i.start, i.finish from kg.instances i
            where i.source_id = c.source_id and i.name_id in (c.from_name, c.to_name) order by i.start limit 1) one on true) p
    order by c.confidence desc, c.source_id
$$;

-- The nearest rows of a table by cosine. An ontology that is small is compared as a whole: an index over all of them would have to
-- walk past the others' rows for it.
create function kg.find_near(p_table text, p_model text, p_vector text, p_ontologies bigint[], p_limit int, p_ef int)
returns table (id bigint, score real)
language plpgsql volatile set enable_seqscan = off as $$
declare
    s kg.spaces%rowtype;
    v_near text;
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
    perform set_config('hnsw.ef_search', least(greatest(p_ef, p_limit), 1000)::text, true),
            set_config('hnsw.iterative_scan', case when p_ontologies is null then 'off' else 'relaxed_order' end, true),
            set_config('hnsw.max_scan_tuples', '40000', true);
    return query execute format(
        'with near as materialized (select id, %1$s as far from kg.%2$I where space = %3$s %4$s order by %1$s limit $3)
         select id, (1 - far)::real from near order by far, id',
        v_near, p_table, s.id, case when p_ontologies is not null then 'and ontology_id = any ($2)' else '' end)
    using p_vector, p_ontologies, p_limit;
end $$;

-- Rows that have all words (score from 1), then, if these are not enough and nothing was quoted or ruled out, rows that have some of
-- the rarer ones (below 1). Concepts whose label is the query, or begins with it, come before (from 2).
create function kg.find_text(p_table text, p_query text, p_ontologies bigint[], p_limit int)
returns table (id bigint, score real)
language plpgsql volatile set enable_seqscan = off as $$
declare
    v_all tsquery := websearch_to_tsquery('english', p_query);
    v_here text := case when p_ontologies is null then '' else 'and ontology_id = any ($2)' end;
    v_label text := lower(btrim(p_query));
    v_like text := replace(replace(replace(lower(btrim(p_query)), '\', '\\'), '%', '\%'), '_', '\_') || '%';
    v_ids bigint[] := '{}';
    v_scores real[] := '{}';
    v_lexemes text[];
    v_common text[];
    v_word text;
    v_count int;
    v_words tsquery[] := '{}';
    v_weights real[] := '{}';
    v_any tsquery;
begin
    if p_table = 'concepts' and length(v_label) > 1 then
        execute format(
            'select array_agg(id), array_agg(score) from (
                 select id, (case when lower(label) = $1 then 3 else 2 + 1.0 / (1 + length(label)) end)::real as score
                 from (select id, label from kg.concepts where lower(label) = $1 %1$s
                       union (select id, label from kg.concepts where lower(label) like $3 %1$s limit 200)) named
                 order by score desc, id limit $4) best', v_here)
        into v_ids, v_scores using v_label, p_ontologies, v_like, p_limit;
        v_ids := coalesce(v_ids, '{}');
        v_scores := coalesce(v_scores, '{}');
    end if;
    if numnode(v_all) > 0 and cardinality(v_ids) < p_limit then
        execute format(
            'with found as materialized (select id, words from kg.%I where words @@ $1 %s and id <> all ($3) limit %s)
             select $3 || array_agg(id order by score desc, id), $4 || array_agg(score order by score desc, id)
             from (select id, (1 + ts_rank_cd(words, $1, 1 | 32))::real as score from found order by score desc, id limit $5) best',
            p_table, v_here, kg.few())
        into v_ids, v_scores using v_all, p_ontologies, v_ids, v_scores, p_limit - cardinality(v_ids);
    end if;
    if cardinality(v_ids) < p_limit and p_query !~ '"|(^|\s)-' then
        v_lexemes := (tsvector_to_array(to_tsvector('english', p_query)))[:16];
        -- the most common ones are known from statistics: to count them is what would cost most
        select coalesce(array_agg(c.lexeme), '{}') into v_common
        from pg_stats s cross join lateral unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as c (lexeme, share)
        where s.schemaname = 'kg' and s.tablename = p_table and s.attname = 'words' and c.lexeme = any (v_lexemes)
          and c.share * (select reltuples from pg_class where oid = ('kg.' || quote_ident(p_table))::regclass) > 500;
        foreach v_word in array v_lexemes loop
            continue when v_word = any (v_common);
            v_any := quote_literal(v_word)::tsquery;
            execute format('select count(*) from (select from kg.%I where words @@ $1 limit $2) few', p_table)
            into v_count using v_any, 501;
            if v_count between 1 and 500 then -- a word that stands in more of them tells little, and would cost much
                v_words := v_words || v_any;
                v_weights := v_weights || ln(1 + 5000.0 / v_count)::real;
            end if;
        end loop;
        if cardinality(v_words) = 0 then -- common words are better than none
            select array_agg(quote_literal(word)::tsquery), array_agg(1.0::real) into v_words, v_weights from unnest(v_common) word;
        end if;
    end if;
    if cardinality(v_words) > 0 then
        execute format(
            'with found as materialized (select id, words from kg.%I where words @@ $1 %s and id <> all ($3) limit %s)
             select $3 || array_agg(id order by score desc, id), $4 || array_agg(score order by score desc, id)
             from (select id, (select sum(weight * (1 + ts_rank(words, word))) from unnest($5, $6) as t (word, weight)
                               where words @@ word)::real / $7 as score
                   from found order by score desc, id limit $8) best',
            p_table, v_here, kg.few())
        into v_ids, v_scores
        using (select string_agg('(' || word::text || ')', ' | ')::tsquery from unnest(v_words) word), p_ontologies, v_ids, v_scores,
              v_words, v_weights, (select 2.1 * sum(weight) from unnest(v_weights) weight)::real, p_limit - cardinality(v_ids);
    end if;
    return query select * from unnest(v_ids, v_scores);
end $$;

-- Grounding: what the strongest relations that lead here say for (1) or against it (-1); most types (a part, a cause) say neither, and an
-- embedder is not surer than that. Diversity: the mean distance between the neighbours. Null where nothing can be said. Vectors have
-- length one, so the mean over all pairs follows from their sum.
create function kg.measure(p_ids bigint[], p_model text)
returns table (id bigint, grounding real, diversity real)
language sql stable as $$
    select one.id, g.grounding, d.diversity
    from (select s.id as space from kg.spaces s where s.model = p_model) here
    cross join unnest(p_ids) as one (id)
    cross join lateral (
        select (sum(r.confidence * s.stance) / nullif(sum(r.confidence), 0))::real as grounding
        from (select type, confidence from kg.relations where to_id = one.id order by confidence desc, id limit 100) r
        join kg.stances s on s.type = r.type and s.space = here.space and abs(s.stance) >= 0.6) g
    cross join lateral (
        select case when count(*) > 1 then
            least(greatest(1 + (count(*) + (sum(c.embedding) <#> sum(c.embedding))) / (count(*) * (count(*) - 1.0)), 0), 2) end::real as diversity
        from (select to_id as other from (select to_id from kg.relations where from_id = one.id order by confidence desc, id limit 12) o
              union
              select from_id from (select from_id from kg.relations where to_id = one.id order by confidence desc, id limit 12) i) n
        join kg.concepts c on c.id = n.other and c.space = here.space
        where n.other <> one.id) d
$$;

-- The nearest items of a collection; as above.
create function kg.near_items(p_collection text, p_model text, p_vector text, p_limit int)
returns table (id text, score real)
language plpgsql volatile set enable_seqscan = off as $$
declare
    s kg.spaces%rowtype;
    v_near text;
    v_rows int;
begin
    select * into s from kg.spaces where model = p_model;
    if not found then return; end if;
    v_near := format('embedding::%1$s <=> $1::%1$s', kg.vector_type(s.dimensions));
    select count(*) into v_rows from (select from kg.items where collection = p_collection limit kg.few() + 1) few;
    if v_rows <= kg.few() then
        return query execute format(
            'with few as materialized (select id, embedding from kg.items where collection = $2 and space = %s)
             select id, (1 - (%s))::real from few order by %2$s, id limit $3', s.id, v_near)
        using p_vector, p_collection, p_limit;
        return;
    end if;
    perform set_config('hnsw.ef_search', least(greatest(100, p_limit), 1000)::text, true),
            set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.max_scan_tuples', '40000', true);
    return query execute format(
        'with near as materialized (select id, %1$s as far from kg.items where collection = $2 and space = %2$s order by %1$s limit $3)
         select id, (1 - far)::real from near order by far, id', v_near, s.id)
    using p_vector, p_collection, p_limit;
end $$;
