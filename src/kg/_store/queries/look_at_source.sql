select s.start from kg.sources s join kg.documents d on d.id = s.document_id
where s.id = %(source)s and d.ontology_id = %(ontology)s
for key share of s
