with gone as (delete from kg.ontologies where id = %(id)s returning id, name, epoch)
select g.id, lanework.audit(%(by)s, 'ontology.delete', 'ontology:' || g.name, jsonb_build_object('epoch', g.epoch, 'documents', %(documents)s::int))
from gone g
