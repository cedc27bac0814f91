-- A dead letter can be redriven: a document that failed is looked at as one that is open, for as long as its job is known. What its
-- job's row says is true; its own words are for the time after that.
create or replace view kg.document_states as
select d.id, o.name as ontology, d.ontology_id, d.name, d.title, d.key, d.version, d.media_type, d.size, d.characters, d.owner,
       d.job_id, d.hash, d.text_hash, d.options, d.provenance, d.chunks, d.chunks_done, d.chunks_failed, d.created_at, d.updated_at,
       coalesce(j.status, case when s.open then 'failed' else d.processing_status end) as status,
       case when j.status in ('failed', 'cancelled') then '' when j.waits <> '' then j.waits else d.stage end as stage,
       case when s.open and j.status is null then 'its job is gone' when s.open or j.status is null then coalesce(j.error, d.error)
            else j.error end as error,
       s.open
from kg.documents d
join kg.ontologies o on o.id = d.ontology_id
cross join lateral (
    select d.processing_status not in ('completed', 'partial', 'failed', 'cancelled') as open, d.processing_status = 'failed' as failed
    offset 0) s
left join lateral (
    select case x.status
               when 'pending' then 'estimating' when 'awaiting_approval' then 'awaiting_approval' when 'running' then 'processing'
               when 'completed' then case when x.partial then 'partial' else 'completed' end
               when 'failed' then 'failed' when 'cancelled' then 'cancelled' else 'queued' end as status,
           case when x.status = 'blocked' then 'waits for ' || x.blocked_on
                when x.status = 'scheduled' and x.attempt > 0 then 'waits for another try' else '' end as waits,
           nullif(x.error, '') as error
    from lanework.all_jobs x where x.id = d.job_id and (s.open or s.failed)) j on true;

create index documents_failed on kg.documents (job_id) where processing_status = 'failed';
