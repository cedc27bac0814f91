-- Documents and their text. A document's chunks are its sources; a source's passages are what the embedder can really see.

create extension if not exists vector;

-- Vectors of two models are never compared: each has a space, and indexes of its own.
create table kg.spaces (
    id smallint generated always as identity primary key,
    model text not null unique,
    dimensions int not null check (dimensions between 1 and 4000)
);

create table kg.ontologies (
    id bigint generated always as identity primary key,
    name text not null unique check (name ~ '^[^\s/\\][^/\\[:cntrl:]]{0,99}$'),
    description text not null default '',
    state text not null default 'active' check (state in ('active', 'pinned', 'frozen')),
    epoch bigint not null default 0, -- rises with every change of its graph
    created_by text not null default '',
    created_at timestamptz not null default now()
);

-- Every change of a graph: what, by whom, by which job.
create table kg.epochs (
    ontology_id bigint not null references kg.ontologies (id) on delete cascade,
    epoch bigint not null,
    kind text not null,
    actor text not null default '',
    job_id bigint,
    detail jsonb,
    at timestamptz not null default now(),
    primary key (ontology_id, epoch)
);

-- Adds a row to the history of an ontology's graph, under the lock of whoever writes it, and answers the new epoch.
create function kg.next_epoch(p_ontology bigint, p_kind text, p_actor text, p_job bigint default null, p_detail jsonb default null)
returns bigint language plpgsql volatile as $$
declare
    v_epoch bigint;
begin
    perform pg_advisory_xact_lock(hashtextextended('kg.ontology', p_ontology));
    update kg.ontologies set epoch = epoch + 1 where id = p_ontology returning epoch into v_epoch;
    insert into kg.epochs (ontology_id, epoch, kind, actor, job_id, detail) values (p_ontology, v_epoch, p_kind, p_actor, p_job, p_detail);
    return v_epoch;
end $$;

-- Answers null if there is none of this name. A null leaves a thing as it is. Whoever is accepting a document into it (and so holds its
-- row) is done before it is frozen.
create function kg.set_ontology(p_name text, p_state text, p_description text, p_by text) returns bigint
language plpgsql volatile as $$
declare
    o kg.ontologies%rowtype;
begin
    select * into o from kg.ontologies where name = p_name for update;
    if not found then return null; end if;
    update kg.ontologies set state = coalesce(p_state, state), description = coalesce(p_description, description) where id = o.id;
    perform kg.next_epoch(o.id, 'ontology.set', p_by, null, jsonb_build_object('state', coalesce(p_state, o.state)));
    perform lanework.audit(p_by, 'ontology.set', 'ontology:' || p_name, jsonb_build_object('state', o.state, 'description', o.description),
        jsonb_build_object('state', coalesce(p_state, o.state), 'description', coalesce(p_description, o.description)));
    return o.id;
end $$;

-- Bytes by their SHA-256: what came in, and the text that was found in it. A document can be run again for as long as it is there, so
-- its bytes are not the engine's, which keeps those of a job for some days only.
create table kg.blobs (
    hash bytea primary key check (length(hash) = 32),
    data bytea not null,
    used_at timestamptz not null default now()
);
alter table kg.blobs alter column data set storage external;

-- The same content in one ontology is one document, in every state: the unique index decides. `key` is where it came from (an address,
-- a path): new content under a known key is a new version of that document.
-- What stands in `processing_status` while a job is at work is what its handler last wrote; `kg.document_states` tells what is true.
create table kg.documents (
    id bigint generated always as identity primary key,
    ontology_id bigint not null references kg.ontologies (id) on delete cascade,
    hash bytea not null references kg.blobs (hash),
    key text check (length(key) between 1 and 2000),
    version int not null default 1,
    name text not null check (length(name) between 1 and 500),
    title text not null default '',
    media_type text not null,
    size bigint not null,
    text_hash bytea references kg.blobs (hash), -- of this version; null: not parsed yet
    characters int,
    owner text not null default '',
    provenance jsonb not null default '{}',
    options jsonb not null default '{}',
    job_id bigint, -- the newest job for it
    processing_status text not null default 'queued'
        check (processing_status in ('queued', 'estimating', 'awaiting_approval', 'processing', 'completed', 'partial', 'failed', 'cancelled')),
    stage text not null default '',
    chunks int not null default 0,
    chunks_done int not null default 0,
    chunks_failed int not null default 0,
    error text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (ontology_id, hash)
);
create unique index on kg.documents (ontology_id, key) where key is not null;
create index on kg.documents (job_id);
create index on kg.documents (owner, id);
create index on kg.documents (hash);
create index on kg.documents (text_hash);
create index documents_open on kg.documents (id) where processing_status not in ('completed', 'partial', 'failed', 'cancelled');

-- A document as it is now. A final state is the document's own, written in the commit that ended its job. Until then the job's row
-- decides, found by its id: a job can also end without its handler (cancelled, rejected, expired, a dead letter), and may wait again.
create view kg.document_states as
select d.id, o.name as ontology, d.ontology_id, d.name, d.title, d.key, d.version, d.media_type, d.size, d.characters, d.owner,
       d.job_id, d.hash, d.text_hash, d.options, d.provenance, d.chunks, d.chunks_done, d.chunks_failed, d.created_at, d.updated_at,
       coalesce(j.status, case when s.open then 'failed' else d.processing_status end) as status,
       case when j.status in ('failed', 'cancelled') then '' when j.waits <> '' then j.waits else d.stage end as stage,
       case when s.open and j.status is null then 'its job is gone' else coalesce(j.error, d.error) end as error,
       s.open
from kg.documents d
join kg.ontologies o on o.id = d.ontology_id
cross join lateral (select d.processing_status not in ('completed', 'partial', 'failed', 'cancelled') as open offset 0) s
left join lateral (
    select case x.status
               when 'pending' then 'estimating' when 'awaiting_approval' then 'awaiting_approval' when 'running' then 'processing'
               when 'completed' then case when x.partial then 'partial' else 'completed' end
               when 'failed' then 'failed' when 'cancelled' then 'cancelled' else 'queued' end as status,
           case when x.status = 'blocked' then 'waits for ' || x.blocked_on
                when x.status = 'scheduled' and x.attempt > 0 then 'waits for another try' else '' end as waits,
           nullif(x.error, '') as error
    from lanework.all_jobs x where x.id = d.job_id and s.open) j on true;

-- A chunk: characters `start` to `finish` of the parsed text; the part from `own` on is not in the chunk before.
-- `copy` tells equal texts of one document apart. `version` is the newest version of the document that has it, `extractor` who read it.
create table kg.sources (
    id bigint generated always as identity primary key,
    document_id bigint not null references kg.documents (id) on delete cascade,
    hash bytea not null check (length(hash) = 32),
    copy int not null default 0,
    ordinal int not null,
    start int not null,
    own int not null,
    finish int not null,
    text text not null,
    version int not null default 1,
    extractor text not null default '',
    dropped int not null default 0, -- quotes that do not occur in it, relationships without ends
    unique (document_id, hash, copy)
);
create index on kg.sources (document_id, ordinal);

-- At most 950 characters of a source. `start` and `finish` count in the document's text.
create table kg.passages (
    id bigint generated always as identity primary key,
    source_id bigint not null references kg.sources (id) on delete cascade,
    ontology_id bigint not null,
    ordinal int not null,
    start int not null,
    finish int not null,
    text text not null,
    space smallint references kg.spaces (id),
    embedding vector,
    words tsvector generated always as (to_tsvector('english', text)) stored,
    unique (source_id, ordinal)
);
create index on kg.passages using gin (words);

-- Texts and vectors under names of their own: ingestion without a graph, and anybody's batches.
create table kg.items (
    collection text not null check (length(collection) between 1 and 200),
    id text not null check (length(id) between 1 and 500),
    text text not null,
    meta jsonb not null default '{}',
    space smallint not null references kg.spaces (id),
    embedding vector not null,
    document_id bigint references kg.documents (id) on delete cascade,
    source_id bigint references kg.sources (id) on delete cascade,
    primary key (collection, id)
);
create index on kg.items (document_id) where document_id is not null;
create index on kg.items (source_id) where source_id is not null;
