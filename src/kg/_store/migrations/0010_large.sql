-- What a large ontology needs, and a large document that goes.

-- Which names are compared for their vectors: those that share a band of corners, and no longer of planes (`kg.graph.sketch`), which
-- brought some hundred wrong ones along for each name of a large ontology. What stands in `marks` is of the old form: a name is found by
-- its keys alone until its corners are made from its vector (`kg.graph.sketching`), some names at a time, by the platform's upkeep.
-- Another name for the column: who still writes the old form must not write it here.
drop index kg.marks_bands_idx;
alter table kg.marks drop column bands, add column corners int[];
create index marks_corners on kg.marks using gin (corners) with (fastupdate = off);
create index marks_old on kg.marks (ontology_id, space, name_id) where corners is null;

-- A chunk that is to go has no document: it is no evidence any more, and takes the place of none (as in 0005 but for that).
-- Where a concept is spoken of: its first few places, each with some text around it. `start` and `finish` count in the document's text.
create or replace function kg.quotes(p_concept bigint, p_limit int)
returns table (document_id bigint, document text, title text, source_id bigint, start int, finish int, around text, around_start int)
language sql stable as $$
    select d.id, d.name, d.title, s.id, i.start, i.finish,
        substr(s.text, greatest(i.start - s.start - 300, 0) + 1, i.finish - greatest(i.start - 300, s.start) + 300),
        greatest(i.start - 300, s.start)
    from (select i.* from kg.names n
          cross join lateral (
              select * from kg.instances i
              where i.name_id = n.id and not exists (select from kg.leaving l where l.source_id = i.source_id)
              order by i.source_id, i.start limit p_limit) i
          where n.concept_id = p_concept order by i.source_id, i.start limit p_limit) i
    join kg.sources s on s.id = i.source_id
    join kg.documents d on d.id = s.document_id
    order by i.source_id, i.start
$$;

-- What a relation stands on: its surest claims, each with the place where the two names are nearest to each other.
create or replace function kg.relation_quotes(p_relation bigint, p_limit int)
returns table (document_id bigint, document text, title text, source_id bigint, start int, finish int, around text, around_start int)
language sql stable as $$
    select d.id, d.name, d.title, s.id, p.start, p.finish,
        substr(s.text, greatest(p.start - s.start - 300, 0) + 1, p.finish - greatest(p.start - 300, s.start) + 300),
        greatest(p.start - 300, s.start)
    from (select c.* from kg.relations r
          join kg.names f on f.concept_id = r.from_id
          join kg.names t on t.concept_id = r.to_id
          join kg.claims c on c.from_name = f.id and c.to_name = t.id and c.type = r.type
          where r.id = p_relation and not exists (select from kg.leaving l where l.source_id = c.source_id)
          order by c.confidence desc, c.source_id limit p_limit) c
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
