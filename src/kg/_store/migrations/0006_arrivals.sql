-- Addresses are fetched by their document's job; equal contents are one document and its duplicates; an edit is seen when it is done.

-- `hash` null: an address of which nothing has come yet. `awaits_fetch`: this version's bytes are still to be fetched, and `hash`, name,
-- type and size are those of the version before. `next_text_hash`: the text of a version in work, while readers see the one before.
alter table kg.documents
    alter column hash drop not null,
    add column awaits_fetch boolean not null default false,
    add column next_text_hash bytea references kg.blobs (hash),
    add column duplicate_of bigint references kg.documents (id) check (duplicate_of <> id);

-- One document of a content is worked, in every state: the unique index decides which. Others with the same content wait behind it, and
-- none of them behind one that waits itself.
alter table kg.documents drop constraint documents_ontology_id_hash_key;
create unique index documents_content on kg.documents (ontology_id, hash) where duplicate_of is null;
create index on kg.documents (duplicate_of) where duplicate_of is not null;
create index on kg.documents (next_text_hash) where next_text_hash is not null;

alter table kg.documents drop constraint documents_processing_status_check;
alter table kg.documents add constraint documents_processing_status_check check (processing_status in
    ('queued', 'estimating', 'awaiting_approval', 'processing', 'completed', 'partial', 'failed', 'cancelled', 'duplicate'));
drop index kg.documents_open;
create index documents_open on kg.documents (id)
    where processing_status not in ('completed', 'partial', 'failed', 'cancelled', 'duplicate');

-- With duplicates. A dead letter can be redriven: a document that failed is looked at as one that is open, for as long as its job is known.
-- What its job's row says is true; its own words are for the time after that.
create or replace view kg.document_states as
select d.id, o.name as ontology, d.ontology_id, d.name, d.title, d.key, d.version, d.media_type, d.size, d.characters, d.owner,
       d.job_id, d.hash, d.text_hash, d.options, d.provenance, d.chunks, d.chunks_done, d.chunks_failed, d.created_at, d.updated_at,
       coalesce(j.status, case when s.open then 'failed' else d.processing_status end) as status,
       case when j.status in ('failed', 'cancelled') then '' when j.waits <> '' then j.waits else d.stage end as stage,
       case when s.open and j.status is null then 'its job is gone' when s.open or j.status is null then coalesce(j.error, d.error)
            else j.error end as error,
       s.open, d.duplicate_of
from kg.documents d
join kg.ontologies o on o.id = d.ontology_id
cross join lateral (
    select d.processing_status not in ('completed', 'partial', 'failed', 'cancelled', 'duplicate') as open,
           d.processing_status = 'failed' as failed
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

-- The content of a document is to change, or the document to go: the first of its duplicates has the content now, the others wait behind
-- that one. Answers the heir, which is to be worked: nobody in a frozen ontology is. The document itself is out of the way until its caller
-- has changed or removed it.
create function kg.pass_on(p_document bigint) returns table (id bigint, version int, owner text)
language plpgsql volatile as $$
declare
    v_heir bigint;
    v_frozen boolean;
begin
    -- all of them, before one is chosen: none goes meanwhile, and none comes, for that its caller holds the document
    perform from kg.documents d where d.duplicate_of = p_document order by d.id for update;
    select d.id, o.state = 'frozen' into v_heir, v_frozen
    from kg.documents d join kg.ontologies o on o.id = d.ontology_id
    where d.duplicate_of = p_document order by d.id limit 1;
    if v_heir is null then return; end if;
    update kg.documents d set duplicate_of = v_heir where d.id = p_document;
    update kg.documents d
    set duplicate_of = null, version = d.version + 1, stage = '', chunks = 0, chunks_done = 0, chunks_failed = 0, updated_at = now(),
        processing_status = case when v_frozen then 'cancelled' else 'queued' end,
        error = case when v_frozen then 'the document that had this content is gone, and the ontology is frozen' end
    where d.id = v_heir;
    update kg.documents d set duplicate_of = v_heir, updated_at = now() where d.duplicate_of = p_document;
    return query select d.id, d.version, d.owner from kg.documents d where d.id = v_heir and not v_frozen;
end $$;
