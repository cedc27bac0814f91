-- What a chunk says, in one call under the ontology's lock: each statement of it would cost the worker and everybody who waits a part
-- of a round trip. Names are told by their forms, and find each other here.

-- From now on the source says this and nothing else. Answers with the epoch, where the source begins in its document (null: it is gone,
-- and nothing was done), the names of which it says something else than before, and the claims that changed: the names of each, its
-- type, and the concepts that both are part of now.
create function kg.say(
    p_ontology bigint, p_source bigint, p_forms text[], p_labels text[],
    p_mentioned text[], p_called text[], p_kinds text[], p_descriptions text[], p_terms text[], p_term_forms text[], p_ranks bytea[],
    p_placed text[], p_starts int[], p_finishes int[], p_quotes text[],
    p_froms text[], p_tos text[], p_types text[], p_tiers text[], p_directions text[], p_confidences real[], p_new_types text[]
) returns table (
    epoch bigint, start int, names bigint[],
    from_names bigint[], to_names bigint[], types text[], from_concepts bigint[], to_concepts bigint[]
)
language plpgsql as $$
#variable_conflict use_column
declare
    v_epoch bigint;
    v_start int;
    v_mentioned bigint[];
    v_placed bigint[];
begin
    -- whoever waited here sees in the statements below what was committed meanwhile. They find a few rows by an index; a plan that was
    -- made while a table was small must not read all of it later, and since that one plan is as good for any values, it is made once
    perform pg_advisory_xact_lock(hashtextextended('kg.ontology', p_ontology)), set_config('enable_seqscan', 'off', true),
        set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
        set_config('plan_cache_mode', 'force_generic_plan', true);
    select o.epoch into v_epoch from kg.ontologies o where o.id = p_ontology;
    select s.start into v_start from kg.sources s join kg.documents d on d.id = s.document_id
    where s.id = p_source and d.ontology_id = p_ontology for key share of s;
    if v_start is null then
        return query select v_epoch, null::int, '{}'::bigint[], '{}'::bigint[], '{}'::bigint[], '{}'::text[], '{}'::bigint[], '{}'::bigint[];
        return;
    end if;

    insert into kg.names (ontology_id, form, label)
    select p_ontology, g.form, g.label from unnest(p_forms, p_labels) as g (form, label) order by g.form collate "C"
    on conflict (ontology_id, form) do nothing;

    with given as (
        select n.id as name_id, g.label, g.type, g.description, string_to_array(g.terms, E'\x1f') as search_terms,
               string_to_array(g.forms, E'\x1f') as term_forms, g.rank
        from unnest(p_mentioned, p_called, p_kinds, p_descriptions, p_terms, p_term_forms, p_ranks)
             as g (form, label, type, description, terms, forms, rank)
        join kg.names n on n.ontology_id = p_ontology and n.form = g.form
    ), gone as (
        delete from kg.mentions m
        where m.source_id = p_source and not exists (select from given g where g.name_id = m.name_id and g.label = m.label)
        returning m.name_id
    ), put as (
        insert into kg.mentions as m (name_id, source_id, label, type, description, search_terms, term_forms, rank)
        select g.name_id, p_source, g.label, g.type, g.description, g.search_terms, g.term_forms, g.rank from given g
        on conflict (source_id, name_id, label) do update
        set type = excluded.type, description = excluded.description, search_terms = excluded.search_terms,
            term_forms = excluded.term_forms, rank = excluded.rank
        where (m.rank, m.search_terms, m.term_forms) is distinct from (excluded.rank, excluded.search_terms, excluded.term_forms)
        returning m.name_id
    )
    select array_agg(x.name_id) into v_mentioned from (select name_id from gone union select name_id from put) x;

    with given as (
        select n.id as name_id, v_start + g.start as start, v_start + g.finish as finish, g.quote
        from unnest(p_placed, p_starts, p_finishes, p_quotes) as g (form, start, finish, quote)
        join kg.names n on n.ontology_id = p_ontology and n.form = g.form
    ), gone as (
        delete from kg.instances i
        where i.source_id = p_source
          and not exists (select from given g where g.name_id = i.name_id and g.start = i.start and g.finish = i.finish)
        returning i.name_id
    ), put as (
        insert into kg.instances (name_id, source_id, start, finish, quote)
        select g.name_id, p_source, g.start, g.finish, g.quote from given g
        on conflict (source_id, name_id, start, finish) do nothing
        returning name_id
    )
    select array_agg(x.name_id) into v_placed from (select name_id from gone union select name_id from put) x;

    if p_new_types <> '{}' then
        insert into kg.vocabulary (type) select t from unnest(p_new_types) t order by t collate "C" on conflict (type) do nothing;
    end if;

    return query
    with given as (
        select f.id as from_name, t.id as to_name, g.type, g.tier, g.direction, g.confidence
        from unnest(p_froms, p_tos, p_types, p_tiers, p_directions, p_confidences) as g (from_form, to_form, type, tier, direction, confidence)
        join kg.names f on f.ontology_id = p_ontology and f.form = g.from_form
        join kg.names t on t.ontology_id = p_ontology and t.form = g.to_form
    ), gone as (
        delete from kg.claims c
        where c.source_id = p_source
          and not exists (select from given g where g.from_name = c.from_name and g.to_name = c.to_name and g.type = c.type)
        returning c.from_name, c.to_name, c.type
    ), put as (
        insert into kg.claims as c (source_id, from_name, to_name, type, tier, direction, confidence)
        select p_source, g.from_name, g.to_name, g.type, g.tier, g.direction, g.confidence from given g
        on conflict (source_id, from_name, to_name, type) do update
        set tier = excluded.tier, direction = excluded.direction, confidence = excluded.confidence
        where (c.tier, c.direction, c.confidence) is distinct from (excluded.tier, excluded.direction, excluded.confidence)
        returning c.from_name, c.to_name, c.type
    )
    select v_epoch, v_start, coalesce(v_mentioned, '{}') || coalesce(v_placed, '{}'),
           coalesce(array_agg(c.from_name), '{}'), coalesce(array_agg(c.to_name), '{}'), coalesce(array_agg(c.type), '{}'),
           coalesce(array_agg(f.concept_id), '{}'), coalesce(array_agg(t.concept_id), '{}')
    from (select * from gone union select * from put) c
    join kg.names f on f.id = c.from_name
    join kg.names t on t.id = c.to_name;
end $$;
