-- Sources of a document whose text is not among the given ones.
select d.ontology_id, coalesce(array_agg(s.id order by s.id) filter (where s.id is not null), '{}')
from kg.documents d
left join kg.sources s on s.document_id = d.id and not exists (
    select from unnest(%(hashes)s::bytea[], %(copies)s::int[]) as g (hash, copy) where g.hash = s.hash and g.copy = s.copy)
where d.id = %(document)s
group by d.ontology_id
