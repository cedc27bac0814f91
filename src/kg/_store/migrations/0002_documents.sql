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

-- The same content in one ontology is one document, in every state: the unique index decides. `key` is where it came from (an address,
-- a path): new content under a known key replaces the document's text.
create table kg.documents (
    id bigint generated always as identity primary key,
    ontology_id bigint not null references kg.ontologies (id) on delete cascade,
    hash bytea not null check (length(hash) = 32), -- SHA-256 of the bytes
    key text,
    version int not null default 1,
    name text not null,
    title text not null default '',
    media_type text not null,
    size bigint not null,
    blob text, -- where its bytes are
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

-- A chunk: characters `start` to `finish` of the parsed text; the part from `own` on is not in the chunk before.
-- `copy` tells equal texts of one document apart.
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
    primary key (collection, id)
);
create index on kg.items (document_id) where document_id is not null;
