select 'near', id, score from kg.find_near('passages', %(model)s, %(vector)s, %(ontologies)s::bigint[], %(depth)s, %(ef)s)
union all
select 'words', id, score from kg.find_text('passages', %(words)s, %(ontologies)s::bigint[], %(depth)s)
union all
select 'concept', id, score from kg.find_near('concepts', %(model)s, %(vector)s, %(ontologies)s::bigint[], %(concepts)s, %(ef)s)
