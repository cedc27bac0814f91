select d.id, d.version, d.ontology_id, o.name, d.name, d.media_type, d.hash, o.epoch, d.options, d.awaits_fetch, d.duplicate_of
from kg.documents d join kg.ontologies o on o.id = d.ontology_id
where d.id = %(id)s and d.version = %(version)s
