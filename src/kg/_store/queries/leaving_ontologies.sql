select distinct ontology_id from kg.leaving order by 1
