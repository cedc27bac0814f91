-- Keeps it from being frozen or deleted before this transaction has ended; a change of its epoch does not wait for it.
select id, state, created_by from kg.ontologies where name = %(name)s for key share
