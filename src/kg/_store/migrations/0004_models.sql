-- Every call of a model, paid or not.
create table kg.model_calls (
    id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    job_id bigint,
    provider text not null,
    model text not null,
    purpose text not null default '', -- extract, repair, embed, chat, …
    tokens_in bigint not null default 0,
    tokens_out bigint not null default 0,
    cost double precision not null default 0,
    seconds double precision not null default 0,
    outcome text not null -- ok, or the class of the error
);
create index on kg.model_calls (job_id);
create index on kg.model_calls (at);
