-- What the source says of names from now on. Answers with the names of which it says something else than before.
with given as (
    select g.name_id, g.label, g.type, g.description, string_to_array(g.terms, E'\x1f') as search_terms,
           string_to_array(g.forms, E'\x1f') as term_forms, g.rank
    from unnest(%(names)s::bigint[], %(labels)s::text[], %(types)s::text[], %(descriptions)s::text[], %(terms)s::text[],
                %(term_forms)s::text[], %(ranks)s::bytea[]) as g (name_id, label, type, description, terms, forms, rank)
), gone as (
    delete from kg.mentions m
    where m.source_id = %(source)s and not exists (select from given g where g.name_id = m.name_id and g.label = m.label)
    returning m.name_id
), put as (
    insert into kg.mentions as m (name_id, source_id, label, type, description, search_terms, term_forms, rank)
    select g.name_id, %(source)s, g.label, g.type, g.description, g.search_terms, g.term_forms, g.rank from given g
    on conflict (source_id, name_id, label) do update
    set type = excluded.type, description = excluded.description, search_terms = excluded.search_terms,
        term_forms = excluded.term_forms, rank = excluded.rank
    where (m.rank, m.search_terms, m.term_forms) is distinct from (excluded.rank, excluded.search_terms, excluded.term_forms)
    returning m.name_id
)
select name_id from gone union select name_id from put
