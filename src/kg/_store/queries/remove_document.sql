with gone as (delete from kg.documents where id = %(id)s returning id, ontology_id, name, version)
select g.id, kg.next_epoch(g.ontology_id, 'document.delete', %(by)s, null, jsonb_build_object('document', g.id, 'name', g.name)),
       lanework.audit(%(by)s, 'document.delete', 'document:' || g.id, jsonb_build_object('name', g.name, 'version', g.version))
from gone g
