update kg.names n set concept_id = g.concept
from unnest(%(names)s::bigint[], %(concepts)s::bigint[]) as g (id, concept) where n.id = g.id
