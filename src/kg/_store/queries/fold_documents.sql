-- What ended a job without its handler becomes the document's own. A document whose job moves meanwhile is left for the next time.
with ended as materialized (
    select s.id, s.job_id, s.status, s.error from kg.document_states s
    where s.open and s.status in ('completed', 'partial', 'failed', 'cancelled') limit 1000
), held as materialized (
    select d.id from kg.documents d join ended e on e.id = d.id
    where d.job_id is not distinct from e.job_id and d.processing_status not in ('completed', 'partial', 'failed', 'cancelled', 'duplicate')
    for update of d skip locked
), folded as (
    update kg.documents d set processing_status = e.status, stage = '', error = e.error, updated_at = now()
    from ended e join held h on h.id = e.id where d.id = e.id returning d.id
)
select count(*) from folded
