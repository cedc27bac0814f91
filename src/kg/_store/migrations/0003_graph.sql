-- The graph. What a chunk said is kept as it was said (mentions, instances, evidence) under names; which names are one concept is a
-- function of all that, computed again for what changed. So a merge can be undone, and the order of chunks does not matter.

create table kg.concepts (
    id bigint generated always as identity primary key,
    ontology_id bigint not null references kg.ontologies (id) on delete cascade,
    label text not null,
    type text not null default '',
    description text not null default '',
    search_terms text[] not null default '{}',
    space smallint references kg.spaces (id),
    embedding vector,
    seen_count int not null default 0, -- instances
    first_epoch bigint not null default 0,
    last_epoch bigint not null default 0,
    words tsvector
);
create index on kg.concepts (ontology_id, lower(label));
create index on kg.concepts using gin (words);

-- A surface form after normalisation, once in an ontology. Its concept is null only inside a transaction that has not settled yet.
create table kg.names (
    id bigint generated always as identity primary key,
    ontology_id bigint not null references kg.ontologies (id) on delete cascade,
    form text not null,
    label text not null, -- the surface form that is shown
    type text not null default '',
    context text not null default '',
    concept_id bigint references kg.concepts (id) on delete set null,
    space smallint references kg.spaces (id),
    embedding vector, -- of "label: context"
    unique (ontology_id, form)
);
create index on kg.names (concept_id);

-- What one chunk says of one name.
create table kg.mentions (
    name_id bigint not null references kg.names (id) on delete cascade,
    source_id bigint not null references kg.sources (id) on delete cascade,
    label text not null,
    type text not null default '',
    description text not null default '',
    search_terms text[] not null default '{}',
    primary key (source_id, name_id)
);
create index on kg.mentions (name_id);

-- `start` and `finish` count in the document's text.
create table kg.instances (
    name_id bigint not null references kg.names (id) on delete cascade,
    source_id bigint not null references kg.sources (id) on delete cascade,
    start int not null,
    finish int not null,
    quote text not null,
    primary key (source_id, name_id, start, finish)
);
create index on kg.instances (name_id);

-- A surface form of a concept, and a source that uses it.
create view kg.aliases as
select n.concept_id, m.label as form, m.source_id, m.name_id
from kg.mentions m join kg.names n on n.id = m.name_id;

create table kg.vocabulary (
    type text primary key check (type ~ '^[A-Z][A-Z0-9_]{0,99}$'),
    category text,
    built_in boolean not null default false,
    active boolean not null default true,
    merged_into text references kg.vocabulary (type),
    description text not null default '',
    usage bigint not null default 0,
    epistemic_status text,
    space smallint references kg.spaces (id),
    embedding vector
);

-- What one chunk says of two names.
create table kg.claims (
    source_id bigint not null references kg.sources (id) on delete cascade,
    from_name bigint not null references kg.names (id) on delete cascade,
    to_name bigint not null references kg.names (id) on delete cascade,
    type text not null references kg.vocabulary (type),
    tier text not null check (tier in ('precise', 'weak')),
    direction text not null default 'forward' check (direction in ('forward', 'both')),
    confidence real not null check (confidence between 0 and 1),
    primary key (source_id, from_name, to_name, type)
);
create index on kg.claims (from_name);
create index on kg.claims (to_name);

-- What all claims say together of two concepts; `relation_evidence` says which sources.
create table kg.relations (
    id bigint generated always as identity primary key,
    ontology_id bigint not null references kg.ontologies (id) on delete cascade,
    from_id bigint not null references kg.concepts (id) on delete cascade,
    to_id bigint not null references kg.concepts (id) on delete cascade,
    type text not null references kg.vocabulary (type),
    tier text not null check (tier in ('precise', 'weak')),
    direction text not null default 'forward' check (direction in ('forward', 'both')),
    confidence real not null,
    evidence int not null default 1, -- sources
    unique (from_id, to_id, type)
);
create index on kg.relations (to_id);

create view kg.relation_evidence as
select r.id as relation_id, c.source_id, c.confidence, c.tier
from kg.relations r
join kg.names f on f.concept_id = r.from_id
join kg.names t on t.concept_id = r.to_id
join kg.claims c on c.from_name = f.id and c.to_name = t.id and c.type = r.type;

-- Pairs that people (or a model) should decide: same or not. A decision is kept and is part of what computes the concepts.
create table kg.proposals (
    id bigint generated always as identity primary key,
    ontology_id bigint not null references kg.ontologies (id) on delete cascade,
    one bigint not null references kg.names (id) on delete cascade,
    other bigint not null references kg.names (id) on delete cascade,
    score real not null,
    decision text check (decision in ('same', 'apart')),
    decided_by text,
    decided_at timestamptz,
    created_at timestamptz not null default now(),
    unique (one, other),
    check (one < other)
);
create index on kg.proposals (ontology_id) where decision is null;
