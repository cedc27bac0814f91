with done as (
    update kg.documents
    set processing_status = %(status)s, stage = '', chunks_failed = %(failed)s, error = %(error)s, updated_at = now(),
        text_hash = %(text_hash)s, next_text_hash = null, characters = %(characters)s, title = %(title)s
    where id = %(id)s and version = %(version)s returning id, ontology_id, name, version
)
select d.id, kg.next_epoch(d.ontology_id, 'ingestion', %(actor)s, %(job)s,
    jsonb_build_object('document', d.id, 'version', d.version, 'chunks', %(chunks)s::int, 'failed', %(failed)s::int))
from done d
