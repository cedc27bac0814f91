-- Every call of a model, paid or not. `call` is its own name: written twice, it is there once.
create table kg.model_calls (
    id bigint generated always as identity primary key,
    call uuid not null unique,
    at timestamptz not null default now(),
    job_id bigint,
    owner text,
    provider text not null,
    model text not null,
    purpose text not null default '', -- extract, repair, embed, chat, …
    tokens_in bigint not null default 0,
    tokens_out bigint not null default 0,
    cost double precision not null default 0, -- USD; the most that it can have cost, where nobody knows
    seconds double precision not null default 0,
    outcome text not null -- ok, or why not: throttled, timeout, away, garbled, truncated, refused, rejected, denied, cancelled
);
create index on kg.model_calls (job_id);
create index on kg.model_calls (at);
