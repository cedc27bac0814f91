-- Chunks that say nothing any more, with their passages. No lock: the graph does not know them.
with gone as (
    select l.source_id from kg.leaving l
    where l.ontology_id = %(ontology)s
      and not exists (select from kg.mentions m where m.source_id = l.source_id)
      and not exists (select from kg.instances i where i.source_id = l.source_id)
      and not exists (select from kg.claims c where c.source_id = l.source_id)
    order by l.source_id limit %(limit)s
    for update skip locked
)
delete from kg.sources s using gone g where s.id = g.source_id returning s.id
