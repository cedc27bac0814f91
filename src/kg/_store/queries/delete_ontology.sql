with parting as ( -- their documents are gone already
    delete from kg.sources s using kg.leaving l where l.source_id = s.id and l.ontology_id = %(id)s
), gone as (delete from kg.ontologies where id = %(id)s returning id, name, epoch)
select g.id, lanework.audit(%(by)s, 'ontology.delete', 'ontology:' || g.name, jsonb_build_object('epoch', g.epoch, 'documents', %(documents)s::int))
from gone g
