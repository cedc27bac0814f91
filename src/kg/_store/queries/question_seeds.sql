-- What the way to an answer begins with: passages near the question, and passages with its words (BM25).
-- How many passages have a word is known from statistics for common words: to count those is what would cost most. Candidates are
-- found by the rarest words, as many of them as lead to a bounded number of passages; then all words count.
with size as materialized (
    select greatest((select reltuples from pg_class where oid = 'kg.passages'::regclass),
                    (select count(*) from (select from kg.passages limit 1000) few))::float as passages
), asked as materialized (
    select lexeme from unnest((tsvector_to_array(to_tsvector('english', %(words)s)))[:32]) lexeme
), common as materialized (
    select c.lexeme, c.share
    from pg_stats s cross join lateral unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as c (lexeme, share)
    where s.schemaname = 'kg' and s.tablename = 'passages' and s.attname = 'words'
), held as materialized (
    select lexeme, coalesce(c.share * size.passages, (
        select count(*) from (select from kg.passages p where p.words @@ quote_literal(a.lexeme)::tsquery limit %(most)s) few)) as many
    from asked a cross join size left join common c using (lexeme)
), rare as materialized (
    select string_agg(quote_literal(lexeme), ' | ')::tsquery as words
    from (select lexeme, sum(many) over (order by many, lexeme) as so_far, row_number() over (order by many, lexeme) as place
          from held where many > 0) h
    where so_far <= %(most)s or place = 1
), candidates as materialized (
    select p.id, p.words, length(p.words)::float as length
    from kg.passages p
    where p.words @@ (select words from rare) and (%(ontologies)s::bigint[] is null or p.ontology_id = any (%(ontologies)s::bigint[]))
    limit %(most)s
), worth as (
    select lexeme, ln(1 + greatest(size.passages - many + 0.5, 0.5) / (many + 0.5)) as worth from held cross join size where many > 0
), words as (
    select c.id, sum(w.worth * t.often * 2.2 / (t.often + 1.2 * (0.25 + 0.75 * c.length / c.usual))) as score
    from (select *, avg(length) over () as usual from candidates) c
    cross join lateral (select u.lexeme, coalesce(array_length(u.positions, 1), 1) as often from unnest(c.words) u) t
    join worth w using (lexeme)
    group by c.id
)
select 'near', id, score::float from kg.find_near('passages', %(model)s, %(vector)s, %(ontologies)s::bigint[], %(depth)s, %(ef)s)
union all
(select 'words', id, score from words order by score desc, id limit %(depth)s)
