-- What is written without spaces (Chinese, Japanese, Thai, …) is one long word to a search by words, and no part of it is found. Such
-- text is found by its characters and by pairs of neighbouring ones. Only passages that have any are in the indexes.
create function kg.has_unspaced(p_text text) returns boolean
language sql immutable parallel safe as $$
    select p_text ~ '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]'
$$;

-- Runs of such characters.
create function kg.unspaced_runs(p_text text) returns setof text
language sql immutable parallel safe as $$
    select run[1] from regexp_matches(p_text, '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+', 'g') run
$$;

-- Each character and each pair of a text, once.
create function kg.pairs(p_text text) returns text[]
language sql immutable parallel safe as $$
    select coalesce(array_agg(distinct part), '{}')
    from kg.unspaced_runs(p_text) run
    cross join lateral (select one, one || lead(one) over (order by place) as pair
                        from unnest(string_to_array(run, null)) with ordinality as t (one, place)) c
    cross join lateral (values (c.one), (c.pair)) as v (part)
    where part is not null
$$;

create index passages_pairs on kg.passages using gin (kg.pairs(text)) where kg.has_unspaced(text);
create index items_pairs on kg.items using gin (kg.pairs(text)) where kg.has_unspaced(text);

create or replace view kg.document_items as
select i.no as id, d.ontology_id, i.space, i.embedding, i.words, i.collection, i.text
from kg.items i join kg.documents d on d.id = i.document_id;

-- Rows that have all runs of a query as they are (1.5), all their pairs (1), or some of them (below 1). Rows with what a minus
-- rules out are none.
create function kg.find_unspaced(p_table text, p_query text, p_ontologies bigint[], p_limit int)
returns table (id bigint, score real)
language plpgsql volatile set enable_seqscan = off as $$
declare
    v_runs text[] := array(select run from kg.unspaced_runs(regexp_replace(p_query, '(^|\s)-\S+', ' ', 'g')) run limit 16);
    v_without text[] := array(select run from regexp_matches(p_query, '(?:^|\s)-(\S+)', 'g') word cross join kg.unspaced_runs(word[1]) run);
    v_pairs text[];
begin
    -- of a run of several characters the pairs: they say more
    select array_agg(distinct pair) into v_pairs
    from unnest(v_runs) run cross join unnest(kg.pairs(left(run, 64))) pair where length(pair) = 2 or length(run) = 1;
    if v_pairs is null then return; end if;
    return query execute format(
        'with whole as materialized (
             select id, text from kg.%1$I where kg.has_unspaced(text) and kg.pairs(text) @> $1 %2$s limit %3$s
         ), parts as materialized (
             select id, text from kg.%1$I
             where kg.has_unspaced(text) and kg.pairs(text) && $1 %2$s and (select count(*) from whole) < $3 limit %3$s
         )
         select id, case when not exists (select from unnest($4) run where position(run in text) = 0) then 1.5 else 1 end::real as score
         from whole
         union all
         select id, ((select count(*) from unnest($1) pair where position(pair in text) > 0) / (cardinality($1) + 1.0))::real
         from parts where id not in (select id from whole)
         order by score desc, id limit $3',
        p_table, case when p_ontologies is null then '' else 'and ontology_id = any ($2)' end
            || case when v_without = '{}' then '' else ' and not exists (select from unnest($5) run where position(run in text) > 0)' end,
        kg.few())
    using v_pairs, p_ontologies, p_limit, v_runs, v_without;
end $$;

-- A search by words finds both kinds of them.
alter function kg.find_text(text, text, bigint[], int) rename to find_words;
create function kg.find_text(p_table text, p_query text, p_ontologies bigint[], p_limit int)
returns table (id bigint, score real)
language plpgsql volatile as $$
begin
    if p_table = 'concepts' or not kg.has_unspaced(p_query) then
        return query select * from kg.find_words(p_table, p_query, p_ontologies, p_limit);
    else
        return query
        select f.id, max(f.score)
        from (select * from kg.find_words(p_table, p_query, p_ontologies, p_limit)
              union all
              select * from kg.find_unspaced(p_table, p_query, p_ontologies, p_limit)) f
        group by f.id order by max(f.score) desc, f.id limit p_limit;
    end if;
end $$;
