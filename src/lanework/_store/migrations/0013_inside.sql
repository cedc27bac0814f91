-- Inside a job: stored steps, items that failed, blobs, children, and jobs that wait for each other.

-- A finished step is never run, or paid for, again. `seq` is the order in which steps were stored: a job that continues another
-- can drop the steps from a named one on.
create table lanework.steps (
    job_id bigint not null,
    key text not null check (length(key) between 1 and 400),
    seq bigint generated always as identity,
    attempt int not null,
    result jsonb,
    blob text,
    at timestamptz not null default lanework.now(),
    primary key (job_id, key)
);
create index on lanework.steps (at);

create table lanework.item_errors (
    job_id bigint not null,
    item text not null,
    error_class text,
    error_code text,
    error text not null,
    traceback text,
    at timestamptz not null default lanework.now(),
    primary key (job_id, item)
);

-- Large values, by the hash of their content: the same bytes are stored once.
create table lanework.blobs (
    hash text primary key,
    size bigint not null,
    data bytea not null,
    at timestamptz not null default lanework.now()
);
alter table lanework.blobs alter column data set storage external;
create table lanework.job_blobs (
    job_id bigint not null,
    hash text not null,
    at timestamptz not null default lanework.now(),
    primary key (job_id, hash)
);
create index on lanework.job_blobs (hash);

create table lanework.children (
    parent_id bigint not null,
    name text not null check (length(name) between 1 and 200),
    child_id bigint not null,
    primary key (parent_id, name)
);

-- Parents that were cancelled while they had living children: a cancel flows down, a bounded number of children at a time.
create table lanework.families (
    parent_id bigint primary key
);

create table lanework.waits (
    job_id bigint primary key,
    on_failure text not null check (on_failure in ('fail', 'continue')),
    tolerate int not null
);

-- Stores a step under its fence; a step that is there already stays. Answers false if the claim is gone.
create function lanework.save_step(p_id bigint, p_attempt int, p_claim uuid, p_key text, p_result text, p_blob text) returns boolean
language plpgsql volatile as $$
begin
    perform lanework.held(array[p_id], array[p_attempt], array[p_claim]);
    if not found then return false; end if;
    insert into lanework.steps (job_id, key, attempt, result, blob) values (p_id, p_key, p_attempt, p_result::jsonb, p_blob)
    on conflict (job_id, key) do nothing;
    return true;
end $$;

create function lanework.save_blob(p_id bigint, p_attempt int, p_claim uuid, p_hash text, p_data bytea) returns boolean
language plpgsql volatile as $$
begin
    perform lanework.held(array[p_id], array[p_attempt], array[p_claim]);
    if not found then return false; end if;
    insert into lanework.blobs (hash, size, data) values (p_hash, length(p_data), p_data) on conflict (hash) do nothing;
    insert into lanework.job_blobs (job_id, hash) values (p_id, p_hash) on conflict do nothing;
    return true;
end $$;

-- The steps of a job that has ended, for one that continues it: all, or those before a named step.
create function lanework.inherit_steps(p_job bigint, p_from bigint, p_before text) returns void
language plpgsql volatile as $$
declare
    v_seq bigint := 9223372036854775807;
begin
    if exists (select from lanework.jobs j where j.id = p_from) then
        raise exception 'continues: job % has not ended yet', p_from using errcode = 'LW300';
    elsif not exists (select from lanework.jobs_done d where d.id = p_from union all select from lanework.jobs_failed f where f.id = p_from) then
        raise exception 'continues: there is no job %', p_from using errcode = 'LW300';
    end if;
    if p_before is not null then
        select min(s.seq) into v_seq from lanework.steps s
        where s.job_id = p_from and (s.key = p_before or left(s.key, length(p_before) + 1) = p_before || '[');
        if v_seq is null then
            raise exception 'from_step: job % has stored no step %', p_from, quote_literal(p_before) using errcode = 'LW300';
        end if;
    end if;
    insert into lanework.steps (job_id, key, attempt, result, blob)
    select p_job, s.key, 0, s.result, s.blob from lanework.steps s where s.job_id = p_from and s.seq < v_seq order by s.seq;
    insert into lanework.job_blobs (job_id, hash)
    select p_job, b.hash from lanework.job_blobs b where b.job_id = p_from on conflict do nothing;
end $$;

-- Submits children of a running job, each once per (job, name), whatever runs again. Answers every name's child.
create function lanework.submit_children(
    p_id bigint, p_attempt int, p_claim uuid, p_names text[], p_type text, p_payloads text[], p_version int,
    p_priority int, p_delay_s double precision, p_max_tries int, p_session text
) returns table (name text, child_id bigint, lane text)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    p lanework.jobs%rowtype;
    t lanework.job_types%rowtype;
    v_now timestamptz := lanework.now();
    v_status lanework.job_status;
    v_turn int;
begin
    perform lanework.held(array[p_id], array[p_attempt], array[p_claim]);
    if not found then
        raise exception 'job %: attempt % was superseded; no child was submitted', p_id, p_attempt using errcode = 'LW400';
    end if;
    select * into p from lanework.jobs j where j.id = p_id;
    select * into t from lanework.job_types x where x.name = p_type;
    if not found then
        raise exception 'type: no job type is called %', quote_literal(p_type) using errcode = 'LW301';
    elsif p_session = p.session then
        raise exception 'session: a child of the same session would wait for its parent, and the parent for it' using errcode = 'LW300';
    elsif p.depth >= 16 then
        raise exception 'child: job % is 16 levels below its first ancestor; a tree may not be deeper', p_id using errcode = 'LW304';
    elsif (select count(*) from lanework.children c where c.parent_id = p_id) + (
        select count(*) from unnest(p_names) as n(name) -- those that are there already are no new ones
        where not exists (select from lanework.children c where c.parent_id = p_id and c.name = n.name)) > 100000 then
        raise exception 'child: job % would have more than 100000 children', p_id using errcode = 'LW304';
    end if;
    v_status := lanework.first_status(v_now + make_interval(secs => p_delay_s), p_session, v_now);
    if t.fair_lane <> 0 then
        v_turn := lanework.next_turn(t.fair_lane, p.owner, coalesce(-p_priority, p.rank));
    end if;
    with given as (
        select u.name, u.payload, u.n from unnest(p_names, p_payloads) with ordinality as u(name, payload, n)
        where not exists (select from lanework.children c where c.parent_id = p_id and c.name = u.name)
    ), added as (
        insert into lanework.children (parent_id, name, child_id)
        -- ids rise with the place in the list: they are the order of the submits
        select p_id, g.name, nextval('lanework.job_ids') from (select * from given order by n) g on conflict do nothing returning name, child_id
    )
    insert into lanework.jobs (
        id, created_at, run_at, deadline, status, type_id, lane_id, turn, rank, version, max_tries, owner, payload, parent, depth, session,
        blocked_on)
    select a.child_id, v_now, case when p_delay_s > 0 then v_now + make_interval(secs => p_delay_s) end,
           least(p.deadline, v_now + make_interval(secs => t.max_age_s)),
           v_status, t.id, nullif(t.fair_lane, 0),
           case when t.fair_lane = 0 or v_status <> 'approved' then 0 else least(v_turn - 1 + row_number() over (order by g.n), -1) end,
           coalesce(-p_priority, p.rank), p_version,
           coalesce(p_max_tries, t.max_tries), p.owner, g.payload::jsonb, p_id, p.depth + 1, p_session,
           case when p_session is not null then 'session' end
    from added a join given g on g.name = a.name;
    if p_session is not null then
        perform lanework.promote_sessions(array[p_session]);
    end if;
    return query select c.name, c.child_id, t.lane from lanework.children c where c.parent_id = p_id and c.name = any (p_names);
end $$;

-- Lets parents go on whose children have all ended. The lock comes first, and the look after it, in a statement of its own: of two
-- children that end at the same moment the second one waits for the first, and then sees that it is gone. Somebody who holds a
-- parent for long (a child's own transaction, after its finish) is not waited for: the sweep looks again.
create function lanework.wake_parents(p_ids bigint[]) returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set lock_timeout = '1s'
as $$
declare
    v_held bigint[];
    v_types int[];
begin
    if p_ids is null or p_ids = '{}' then return; end if;
    begin
        v_held := array(
            select j.id from (select distinct u from unnest(p_ids) u order by u) u
            cross join lateral (
                select j.id from lanework.jobs j
                where j.id = u.u and j.status = 'blocked' and j.blocked_on = 'children' offset 0 for no key update) j);
    exception when lock_not_available then
        v_held := array(
            select j.id from (select distinct u from unnest(p_ids) u order by u) u
            cross join lateral (
                select j.id from lanework.jobs j
                where j.id = u.u and j.status = 'blocked' and j.blocked_on = 'children' offset 0 for no key update skip locked) j);
    end;
    if v_held = '{}' then return; end if;
    with woken as (
        update lanework.jobs j set status = 'approved', blocked_on = null
        where j.id = any (v_held) and not exists (select from lanework.jobs c where c.parent = j.id offset 0)
        returning j.type_id
    )
    select array_agg(distinct w.type_id) into v_types from woken w;
    if v_types is not null then
        perform lanework.hint(l.lane) from (select distinct t.lane from lanework.job_types t where t.id = any (v_types)) l;
    end if;
end $$;

-- One at a time lets jobs of a session go. A completion and the submit of a follower so meet in one of two orders: the completion sees
-- the follower, or the submit waits and then sees that nobody is active. Answers false if somebody holds one of the sessions for long
-- (a head's own transaction, after its finish; he lets the next one go himself), or if the server has no room for so many locks.
-- A cancel of the next one may wait here for a completion that waits for that one's row: not as long as a deadlock takes to be seen.
create function lanework.lock_sessions(p_sessions text[]) returns boolean
language plpgsql volatile
set lock_timeout = '500ms'
as $$
begin
    perform pg_advisory_xact_lock(1279350096, h) from (select distinct hashtext(s) as h from unnest(p_sessions) s order by 1) locks;
    return true;
exception when lock_not_available or out_of_memory then
    return false;
end $$;

-- (`offset 0` keeps an `exists` from becoming a join: one look into an index per row, whatever the statistics say.)
--
-- Makes the first committed job of each session claimable, if the session has no active one. The unique index on active jobs stands
-- behind it.
create function lanework.promote_sessions(p_sessions text[]) returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_now timestamptz := lanework.now();
    v_ids bigint[];
    v_types int[];
begin
    if p_sessions is null or p_sessions = '{}' or not lanework.lock_sessions(p_sessions) then return; end if;
    with heads as (
        select h.id
        from (select distinct s collate "C" as s from unnest(p_sessions) s) x
        -- written as a walk of the index from (session, 0) on: no other index has this order
        cross join lateral (
            select j.session, j.id from lanework.jobs j
            where j.status = 'blocked' and j.blocked_on = 'session' and (j.session, j.id) > (x.s, 0)
            order by j.session, j.id limit 1) h
        where h.session = x.s and not exists (
            select from lanework.jobs a
            where a.session = x.s and (a.status in ('approved', 'running', 'scheduled') or a.blocked_on = 'children') offset 0)
    ), gone_on as (
        update lanework.jobs j
        set status = case when j.run_at > v_now then 'scheduled'::lanework.job_status else 'approved' end,
            run_at = case when j.run_at > v_now then j.run_at end, blocked_on = null
        from heads h where j.id = h.id and j.status = 'blocked'
        returning j.id, j.type_id
    )
    select array_agg(g.id), array_agg(distinct g.type_id) into v_ids, v_types from gone_on g;
    if v_types is not null then
        perform lanework.take_turns(v_ids, v_types);
        perform lanework.hint(l.lane) from (select distinct t.lane from lanework.job_types t where t.id = any (v_types)) l;
    end if;
end $$;

-- The same for sessions whose active job this very transaction has completed, at less cost: there is no active one to look for.
-- Until the commit everybody else sees the one that was active, and after it the one that follows: so it is right without the lock
-- too, only that a follower that is submitted at this moment may then wait for the sweep. (`completed` pins the plan.)
create function lanework.promote_followers(p_sessions text[]) returns void
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
    v_heads int;
    v_gone_on int;
    v_ids bigint[];
    v_types int[];
begin
    perform lanework.lock_sessions(p_sessions);
    with heads as materialized (
        select h.id, h.place
        from unnest(p_sessions) x(s)
        cross join lateral (
            select j.session, j.id, j.ctid as place from lanework.jobs j
            where j.status = 'blocked' and j.blocked_on = 'session' and (j.session, j.id) > (x.s collate "C", 0)
            order by j.session, j.id limit 1) h
        where h.session = x.s order by h.id
    ), gone_on as (
        update lanework.jobs j
        set status = case when j.run_at > v_now then 'scheduled'::lanework.job_status else 'approved' end,
            run_at = case when j.run_at > v_now then j.run_at end, blocked_on = null
        -- (`::text`: no partial index may offer itself; a plan that was made for a small table would read all of it)
        from heads h where j.ctid = h.place and j.id = h.id and j.status::text = 'blocked' and j.blocked_on = 'session'
        returning j.id, j.type_id
    )
    select (select count(*) from heads), count(*), array_agg(g.id), array_agg(distinct g.type_id)
    into v_heads, v_gone_on, v_ids, v_types from gone_on g;
    if v_types is not null then
        if exists (select from lanework.job_types t where t.id = any (v_types) and t.fair_lane <> 0) then
            perform lanework.take_turns(v_ids, v_types);
        end if;
        perform lanework.hint(l.lane) from (select distinct t.lane from lanework.job_types t where t.id = any (v_types)) l;
    end if;
    if v_gone_on < v_heads then -- one was changed or cancelled at that moment: who comes first now?
        perform lanework.promote_sessions(p_sessions);
    end if;
end $$;

-- Where the walk below goes on; empty: from the first session.
create table lanework.session_walk (
    one boolean primary key default true check (one),
    after text collate "C" not null default ''
);
insert into lanework.session_walk default values;

-- Sessions that have waiting jobs and no active one, at most p_limit: a walk from session to session, not through their jobs, of at most
-- twenty times as many. The next walk goes on where this one stopped, so that each session is reached however many there are.
create function lanework.idle_sessions(p_limit int) returns text[]
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
    v_after text;
    v_next text;
    v_idle text[];
begin
    select w.after into v_after from lanework.session_walk w for update skip locked;
    if not found then return '{}'; end if; -- somebody else walks at this moment
    with recursive walk as (
        (select j.session, 1 as n from lanework.jobs j
         where j.status = 'blocked' and j.blocked_on = 'session' and j.session > v_after order by j.session limit 1)
        union all
        select (select j.session from lanework.jobs j
                where j.status = 'blocked' and j.blocked_on = 'session' and j.session > w.session order by j.session limit 1), w.n + 1
        from walk w where w.session is not null and w.n < p_limit * 20
    ), idle as (
        select w.session, w.n from walk w
        where w.session is not null and not exists (
            select from lanework.jobs a
            where a.session = w.session and (a.status in ('approved', 'running', 'scheduled') or a.blocked_on = 'children') offset 0)
        order by w.n limit p_limit
    )
    select array(select i.session from idle i order by i.n),
           -- it stopped at the last it could answer, or at the last it could walk to, or it came to the end
           coalesce((select i.session from idle i order by i.n offset p_limit - 1), (select w.session from walk w where w.n = p_limit * 20), '')
    into v_idle, v_next;
    if v_next <> v_after then
        update lanework.session_walk w set after = v_next;
    end if;
    return v_idle;
end $$;

create function lanework.cancel_families(p_limit int) returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
begin
    perform lanework.stop_job(x.id, '', 'its parent was cancelled', true)
    from (
        select c.id from lanework.families f
        cross join lateral (
            select c.id from lanework.jobs c
            where c.parent = f.parent_id and not exists (select from lanework.stops s where s.job_id = c.id offset 0) offset 0) c
        order by c.id limit p_limit) x;
    delete from lanework.families f where not exists (select from lanework.jobs c where c.parent = f.parent_id offset 0);
end $$;

-- After jobs have left for a final state by other ways than a completion: their parents and sessions go on.
create function lanework.freed(p_ids bigint[]) returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    v_parents bigint[];
    v_sessions text[];
begin
    select array_agg(x.parent) filter (where x.parent is not null), array_agg(x.session) filter (where x.session is not null)
    into v_parents, v_sessions
    from (
        select d.parent, d.session from lanework.jobs_done d where d.id = any (p_ids)
        union all
        select f.parent, f.session from lanework.jobs_failed f where f.id = any (p_ids)) x;
    if v_parents is not null then
        perform lanework.wake_parents(v_parents);
    end if;
    if v_sessions is not null then
        perform lanework.promote_sessions(v_sessions);
    end if;
    if exists (select from lanework.estimating) then
        perform lanework.estimated(p_ids);
    end if;
    if exists (select from lanework.approval_requests) then
        delete from lanework.approval_requests r where r.job_id = any (p_ids);
    end if;
    insert into lanework.families (parent_id)
    select d.id from lanework.jobs_done d
    where d.id = any (p_ids) and d.status = 'cancelled' and exists (select from lanework.jobs c where c.parent = d.id offset 0)
      and not exists (select from lanework.stops s where s.job_id = d.id and not s.children offset 0)
    on conflict do nothing;
    if found then
        perform lanework.cancel_families(500);
    end if;
end $$;
