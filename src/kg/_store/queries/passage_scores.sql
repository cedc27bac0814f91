-- How near the nearest passages are, and how many of the words the others have: what pieces without a graph are measured against.
select 'near', id, score from kg.find_near('passages', %(model)s, %(vector)s, %(ontologies)s::bigint[], %(depth)s, %(ef)s)
union all
select 'words', id, score
from kg.find_text('passages', %(words)s, %(ontologies)s::bigint[], %(depth)s) where %(words)s::text is not null
