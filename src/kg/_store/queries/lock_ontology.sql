-- Alone in a statement: whoever waited here must see what was committed meanwhile.
select pg_advisory_xact_lock(hashtextextended('kg.ontology', %(ontology)s))
