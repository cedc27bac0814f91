select p.ontology_id, a.form, b.form from kg.proposals p join kg.names a on a.id = p.one join kg.names b on b.id = p.other where p.id = %(id)s
