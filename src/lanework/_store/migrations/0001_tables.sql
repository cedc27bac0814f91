-- The tables of the engine.
--
-- `jobs` holds live jobs only. It is the hot table: finished jobs move to `jobs_done`, dead letters to `jobs_failed`, and
-- whatever is written while a job runs (progress, log, checkpoint, stop requests) has a table of its own, so that
-- nothing but a change of state touches a job's row. Nothing has a foreign key to a job.

create schema if not exists lanework;

create type lanework.job_status as enum (
    'pending', 'awaiting_approval', 'scheduled', 'blocked', 'approved', 'running',
    'completed', 'failed', 'cancelled'
);

create sequence lanework.job_ids;
create sequence lanework.fences;

-- The one clock. STABLE, so that `run_at <= lanework.now()` is an index condition; only the testing schema's version
-- adds an offset. Where a value stamps several rows it is read once, into a variable, after the locks.
create function lanework.now() returns timestamptz
language plpgsql stable parallel safe as $$ begin return clock_timestamp(); end $$;

create table lanework.facts (
    name text primary key,
    value bigint not null
);
-- A restore of older data raises this, so that fences handed out before it stay below those handed out after it.
insert into lanework.facts values ('fence_epoch', 0);

create table lanework.lanes (
    id int generated always as identity unique,
    name text primary key check (name ~ '^[a-z][a-z0-9_.-]{0,62}$'),
    max_slots int default 1 check (max_slots between 0 and 10000),
    worker_slots int check (worker_slots between 0 and 10000),
    poll_interval_ms int not null default 5000 check (poll_interval_ms between 50 and 120000),
    stale_timeout_minutes int not null default 30 check (stale_timeout_minutes between 1 and 1440),
    enabled boolean not null default true,
    fair boolean not null default false,
    set_by text not null default 'code',
    updated_at timestamptz not null default lanework.now()
);
insert into lanework.lanes (name) values ('default');

create table lanework.job_types (
    id int generated always as identity unique,
    name text primary key check (length(name) between 1 and 200),
    lane text not null default 'default' references lanework.lanes (name) on update cascade,
    set_by text not null default 'code',
    executor text not null default 'thread',
    priority smallint not null default 0 check (priority between -1000 and 1000),
    max_tries smallint not null default 3 check (max_tries between 1 and 100),
    timeout_s double precision check (timeout_s > 0),
    max_age_s double precision check (max_age_s > 0),
    stale_after_s double precision check (stale_after_s > 0),
    never_stale boolean not null default false,
    reports_progress boolean not null default false,
    concurrency int check (concurrency between 0 and 10000),
    fair_lane int not null default 0, -- the fair lane whose turns its waiting jobs carry; 0: none
    mixed boolean not null default false, -- some of them may still carry those of another lane
    -- who needs an approval, as code says; operators' rules come before it
    approval text not null default 'never' check (approval in ('always', 'never', 'above')),
    approval_above numeric check (approval_above >= 0),
    approval_currency text not null default 'USD',
    approval_expiry_s double precision not null default 86400 check (approval_expiry_s > 0),
    four_eyes boolean not null default false,
    estimator text, -- the type of the jobs that estimate what a job of this one costs
    estimates text, -- the type that this one estimates
    permits text[] not null default '{}',
    rate text,
    created_at timestamptz not null default lanework.now()
);
create index on lanework.job_types (lane);

-- Eight-byte columns first: the row is copied by every claim and finish, and padding is copied too.
-- `rank` is -priority: all columns of the claim index ascend, so that one row comparison is an index condition.
-- `turn` is the place of a claimable job in a fair lane, below 0 (see 0021); 0 in plain lanes, and for jobs that have none yet.
create table lanework.jobs (
    id bigint not null default nextval('lanework.job_ids'),
    created_at timestamptz not null default lanework.now(),
    run_at timestamptz,
    deadline timestamptz,
    claimed_at timestamptz,
    worker_id bigint,
    parent bigint,
    continues bigint,
    claim_id uuid,
    status lanework.job_status not null,
    type_id int not null,
    attempt int not null default 0,
    lane_id int,
    turn int not null default 0,
    rank smallint not null default 0,
    version smallint not null default 1,
    max_tries smallint not null default 3,
    tries_used smallint not null default 0,
    losses smallint not null default 0,
    depth smallint not null default 0,
    suspect boolean not null default false,
    owner text,
    session text collate "C",
    blocked_on text,
    tags text[],
    payload jsonb not null default '{}'::jsonb
    -- Limits are looked at by `check_new_jobs`: a CHECK is read and prepared anew by every statement that writes a row, also by
    -- each claim, and the three of them cost more than all the indexes here.
) with (
    -- payloads over 2 KB leave the row altogether: a claim must not copy them
    toast_tuple_target = 128,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_analyze_scale_factor = 0.05
);
alter table lanework.jobs add primary key (id);
create index jobs_claim on lanework.jobs (type_id, turn, rank, created_at, id) where status = 'approved';
create index jobs_due on lanework.jobs (run_at, id) where status = 'scheduled';
-- A session's jobs run one at a time: this is the last guard of that, whoever promotes. A job that waits for its children
-- holds its session.
create unique index jobs_session_active on lanework.jobs (session)
    where session is not null and (status in ('approved', 'running', 'scheduled') or blocked_on = 'children');
create index jobs_session_waiting on lanework.jobs (session, id) where status = 'blocked' and blocked_on = 'session';
create index jobs_children on lanework.jobs (parent) where parent is not null;
create index jobs_deadline on lanework.jobs (deadline) where deadline is not null;

-- Finished jobs, by ranges of ids: look-ups prune, and old ranges leave whole.
create table lanework.jobs_done (
    like lanework.jobs including defaults,
    finished_at timestamptz not null,
    partial boolean not null default false,
    reason text,
    result jsonb
) partition by range (id);
alter table lanework.jobs_done add primary key (id);
create table lanework.jobs_done_rest partition of lanework.jobs_done default;

-- Dead letters. A redrive moves the row back to `jobs` with its attempt.
create table lanework.jobs_failed (
    like lanework.jobs including defaults,
    finished_at timestamptz not null,
    error_class text not null,
    error_code text,
    error text not null default '',
    primary key (id)
);

create table lanework.keys (
    owner text not null default '',
    key text not null check (length(key) between 1 and 200),
    body_hash bytea not null,
    job_id bigint not null,
    created_at timestamptz not null default lanework.now(),
    primary key (owner, key)
);

-- Rows outlive every job that names them. `steady_since` is when this worker's own beats last had a gap: only a worker
-- that has been steady for a whole expiry may declare another one dead.
create table lanework.workers (
    id bigint generated always as identity primary key,
    name text not null,
    host text not null,
    pid int not null,
    state text not null default 'active' check (state in ('active', 'draining', 'stopped', 'dead')),
    ttl interval not null default '30 s',
    started_at timestamptz not null default lanework.now(),
    seen_at timestamptz not null default lanework.now(),
    steady_since timestamptz not null default lanework.now(),
    ended_at timestamptz,
    ended_because text,
    drained_by text, -- an operator; null while it drains by itself, before it stops
    lanes text[] not null default '{}',
    types int[] not null default '{}',
    info jsonb not null default '{}'
) with (fillfactor = 50);
create index workers_living on lanework.workers (id) where state in ('active', 'draining');

-- One row per claim call. A claim is `open` while the worker knows it; a beat gives back what it does not name.
create table lanework.claims (
    worker_id bigint not null,
    no bigint not null,
    claim_id uuid not null,
    job_ids bigint[] not null,
    primary key (worker_id, no)
) with (autovacuum_vacuum_scale_factor = 0.01, fillfactor = 80, toast_tuple_target = 8160); -- to compress ids costs more than they do

-- Bodies a worker has in a lane, fenced ones that have not ended included: absolute numbers, set with each claim and
-- finish, summed under the lane's lock. A dead worker's rows go with it.
create table lanework.lane_use (
    lane_id int not null,
    worker_id bigint not null,
    used int not null,
    call bigint not null default 0, -- the worker's call that set it: a call that comes late sets nothing
    primary key (lane_id, worker_id)
) with (fillfactor = 50);
create table lanework.type_use (
    type_id int not null,
    worker_id bigint not null,
    used int not null,
    primary key (type_id, worker_id)
) with (fillfactor = 50);

-- Asked-for ends of live jobs. Their own table, so that asking never waits for the job's row.
create table lanework.stops (
    job_id bigint primary key,
    kind text not null check (kind in ('cancel', 'stalled', 'expired')),
    asked_at timestamptz not null default lanework.now(),
    asked_by text not null default '',
    reason text not null default '',
    children boolean not null default true -- a cancel flows down to them
);

create table lanework.progress (
    job_id bigint primary key,
    attempt int not null,
    fraction real,
    message text not null default '',
    data jsonb,
    at timestamptz not null default lanework.now()
) with (fillfactor = 70);

create table lanework.checkpoints (
    job_id bigint primary key,
    attempt int not null,
    state jsonb,
    at timestamptz not null default lanework.now()
);

-- Attempts have rows only when they did not succeed.
create table lanework.attempts (
    job_id bigint not null,
    attempt int not null,
    worker_id bigint,
    started_at timestamptz,
    ended_at timestamptz not null,
    outcome text not null,
    error_class text,
    error_code text,
    error text,
    traceback text,
    cause text,
    primary key (job_id, attempt)
);

create table lanework.logs (
    id bigint generated always as identity,
    job_id bigint not null,
    attempt int not null,
    at timestamptz not null default lanework.now(),
    stream text not null,
    text text not null,
    primary key (job_id, id)
);

create table lanework.leader (
    one boolean primary key default true check (one),
    worker_id bigint,
    term bigint not null default 0,
    until timestamptz not null default '-infinity'
);
insert into lanework.leader default values;

-- How long what hangs on a job is kept after the job's end.
create table lanework.lifetimes (
    thing text primary key,
    keep interval not null check (keep > interval '0'),
    meaning text not null
);
insert into lanework.lifetimes values
    ('completed', '30 days', 'completed and cancelled jobs with their results'),
    ('failed', '90 days', 'dead letters'),
    ('logs', '14 days', 'log lines, from when they were written'),
    ('keys', '7 days', 'idempotency keys, after their job has ended'),
    ('checkpoints', '7 days', 'checkpoints, after their job has ended'),
    ('steps', '7 days', 'stored steps and blobs, after their job has ended'),
    ('rollups', '90 days', 'metrics per minute'),
    ('events', '7 days', 'events, by whole ranges of ids'),
    ('workers', '7 days', 'rows of workers that have ended');
