with done as (
    update kg.documents
    set processing_status = %(status)s, stage = '', chunks_failed = %(failed)s, error = %(error)s, updated_at = now(),
        text_hash = %(text_hash)s, next_text_hash = null, characters = %(characters)s, title = %(title)s
    where id = %(id)s and version = %(version)s returning id, ontology_id, version, chunks_done
)
select d.chunks_done, kg.next_epoch(d.ontology_id, 'ingestion', %(actor)s, %(job)s,
    jsonb_build_object('document', d.id, 'version', d.version, 'chunks', %(chunks)s::int, 'failed', %(failed)s::int))
from done d
