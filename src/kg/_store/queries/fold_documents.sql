-- What ended a job without its handler becomes the document's own. A document whose job moves meanwhile is left for the next time, and
-- so is one whose dead letter was redriven: it is open again.
with redriven as materialized (
    select d.id from kg.documents d
    where d.processing_status = 'failed' and not exists (select from lanework.jobs_failed f where f.id = d.job_id)
      and (exists (select from lanework.jobs j where j.id = d.job_id) or exists (select from lanework.jobs_done e where e.id = d.job_id))
    limit 1000 for update of d skip locked
), reopened as (
    update kg.documents d set processing_status = 'queued', error = null from redriven r where d.id = r.id returning d.id
), ended as materialized (
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
select (select count(*) from folded) + (select count(*) from reopened)
