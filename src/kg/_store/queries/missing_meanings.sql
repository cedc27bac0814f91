-- Of a chunk's names: those whose leading mention would be the chunk's own, or that have no vector of this space.
select g.form, n.rank, n.label, n.context
from unnest(%(forms)s::text[], %(ranks)s::bytea[]) as g (form, rank)
left join kg.names n on n.ontology_id = %(ontology)s and n.form = g.form
left join kg.marks k on k.name_id = n.id
where n.id is null or g.rank < n.rank or k.space is distinct from %(space)s or k.corners is null
