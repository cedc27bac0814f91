-- Who may do what: users, roles as rows, credentials. Secrets are stored as hashes only.

create schema if not exists kg;

create table kg.users (
    id bigint generated always as identity primary key,
    name text not null unique check (name ~ '^[a-zA-Z0-9][a-zA-Z0-9._@+-]{0,99}$'),
    password text, -- argon2; null: cannot log in with one
    disabled_at timestamptz,
    created_at timestamptz not null default now()
);

create table kg.roles (
    name text primary key check (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    description text not null default '',
    built_in boolean not null default false
);

-- `scope`: all, own, or `ontology:<name>`. `permission` is resource:action; a submit right for one job type alone is
-- `jobs:submit:<type>`.
create table kg.role_permissions (
    role text not null references kg.roles (name) on delete cascade on update cascade,
    permission text not null check (permission ~ '^[a-z_]+:[a-z_]+(:.{1,200})?$'),
    scope text not null default 'all' check (scope in ('all', 'own') or scope like 'ontology:_%'),
    primary key (role, permission, scope)
);

create table kg.user_roles (
    user_id bigint not null references kg.users (id) on delete cascade,
    role text not null references kg.roles (name) on delete cascade on update cascade,
    primary key (user_id, role)
);

-- API tokens, web sessions and one-time links: random texts, of which only the SHA-256 is here. `limited_to` limits a token to some of
-- its user's permissions.
create table kg.credentials (
    id bigint generated always as identity primary key,
    user_id bigint not null references kg.users (id) on delete cascade,
    kind text not null check (kind in ('token', 'session', 'link')),
    name text not null default '',
    hash bytea not null unique check (length(hash) = 32),
    start text not null default '', -- its first characters, so that a person can tell which one it is
    limited_to text[],
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);
create index on kg.credentials (user_id);

-- Attempts within a window, by who and from where: a bucket that refills.
create table kg.attempts (
    key text primary key,
    count int not null,
    since timestamptz not null
);

-- Answers to POSTs that came with an Idempotency-Key: the same key and body get the same answer.
create table kg.answers (
    owner text not null,
    key text not null check (length(key) between 1 and 200),
    route text not null,
    body_hash bytea not null,
    status int, -- null: still at work
    body text,
    headers jsonb,
    created_at timestamptz not null default now(),
    primary key (owner, key)
);

insert into kg.roles (name, description, built_in) values
    ('read_only', 'sees what is his own, and the graph', true),
    ('contributor', 'submits jobs and documents, cancels his own', true),
    ('operator', 'sees all jobs, cancels and retries them, handles failures', true),
    ('approver', 'sees all jobs and approves what costs money', true),
    ('admin', 'users, roles, tokens, settings and everything about jobs', true),
    ('platform_admin', 'an admin who also manages workers and lanes', true);

insert into kg.role_permissions (role, permission, scope)
select distinct r.role, p.permission, p.scope
from (values
    ('read_only', array['read_only']),
    ('contributor', array['read_only', 'contributor']),
    ('operator', array['read_only', 'contributor', 'operator']),
    ('approver', array['read_only', 'approver']),
    ('admin', array['read_only', 'contributor', 'operator', 'approver', 'admin']),
    ('platform_admin', array['read_only', 'contributor', 'operator', 'approver', 'admin', 'platform_admin'])) as r(role, parts)
join (values
    ('read_only', 'jobs:read', 'own'), ('read_only', 'events:read', 'own'), ('read_only', 'graph:read', 'all'),
    ('read_only', 'documents:read', 'all'),
    ('contributor', 'jobs:submit', 'own'), ('contributor', 'jobs:cancel', 'own'), ('contributor', 'jobs:retry', 'own'),
    ('contributor', 'documents:write', 'all'),
    ('operator', 'jobs:read', 'all'), ('operator', 'jobs:cancel', 'all'), ('operator', 'jobs:retry', 'all'),
    ('operator', 'jobs:priority', 'all'), ('operator', 'events:read', 'all'), ('operator', 'dead:read', 'all'),
    ('operator', 'dead:manage', 'all'), ('operator', 'schedules:read', 'all'), ('operator', 'schedules:manage', 'all'),
    ('operator', 'permits:read', 'all'), ('operator', 'budgets:read', 'all'), ('operator', 'metrics:read', 'all'),
    ('operator', 'doctor:read', 'all'),
    ('approver', 'jobs:read', 'all'), ('approver', 'jobs:approve', 'all'), ('approver', 'budgets:read', 'all'),
    ('admin', 'jobs:submit', 'all'), ('admin', 'users:manage', 'all'), ('admin', 'roles:manage', 'all'),
    ('admin', 'audit:read', 'all'), ('admin', 'permits:manage', 'all'), ('admin', 'budgets:manage', 'all'),
    ('platform_admin', 'workers:view', 'all'), ('platform_admin', 'workers:manage', 'all')
) as p(part, permission, scope) on p.part = any (r.parts);

-- What an administrator changes, each with its audit row. A null argument leaves a thing as it is.
create function kg.set_user(p_name text, p_password text, p_roles text[], p_disabled boolean, p_by text) returns boolean
language plpgsql volatile as $$
declare
    u kg.users%rowtype;
    v_before text[];
begin
    select * into u from kg.users where name = p_name for update;
    if not found then return false; end if;
    v_before := array(select role from kg.user_roles where user_id = u.id order by role);
    update kg.users set password = coalesce(p_password, password),
        disabled_at = case when p_disabled is null then disabled_at when p_disabled then coalesce(disabled_at, now()) end
    where id = u.id;
    if p_roles is not null then
        delete from kg.user_roles where user_id = u.id and role <> all (p_roles);
        insert into kg.user_roles (user_id, role) select u.id, r from unnest(p_roles) r on conflict do nothing;
    end if;
    if p_password is not null or p_disabled then -- whoever was in, is out
        update kg.credentials set revoked_at = now()
        where user_id = u.id and revoked_at is null and (kind <> 'token' or p_disabled);
    end if;
    perform lanework.audit(p_by, 'user.set', 'user:' || p_name,
        jsonb_build_object('roles', v_before, 'disabled', u.disabled_at is not null),
        jsonb_build_object('roles', coalesce(p_roles, v_before), 'disabled', coalesce(p_disabled, u.disabled_at is not null),
                           'password', case when p_password is not null then 'changed' end));
    return true;
end $$;

create function kg.set_role(p_name text, p_description text, p_permissions text[], p_scopes text[], p_by text) returns void
language plpgsql volatile as $$
declare
    v_before jsonb := (select jsonb_agg(permission || ' ' || scope order by permission, scope) from kg.role_permissions where role = p_name);
begin
    insert into kg.roles (name, description) values (p_name, coalesce(p_description, ''))
    on conflict (name) do update set description = coalesce(p_description, kg.roles.description);
    delete from kg.role_permissions where role = p_name;
    insert into kg.role_permissions (role, permission, scope)
    select distinct p_name, x.permission, x.scope from unnest(p_permissions, p_scopes) as x(permission, scope);
    perform lanework.audit(p_by, 'role.set', 'role:' || p_name, v_before,
        (select jsonb_agg(permission || ' ' || scope order by permission, scope) from kg.role_permissions where role = p_name));
end $$;

-- Answers false for a role that is built in or not there.
create function kg.remove_role(p_name text, p_by text) returns boolean
language plpgsql volatile as $$
begin
    delete from kg.roles where name = p_name and not built_in;
    if not found then return false; end if;
    perform lanework.audit(p_by, 'role.remove', 'role:' || p_name);
    return true;
end $$;
