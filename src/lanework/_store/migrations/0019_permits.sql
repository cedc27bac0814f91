-- Permits, rates and budgets: what jobs and their callers share with the whole cluster.
--
-- A hold of a process is a number, not a row per hold: `permit_use` has what a process has of a permit, lives as long as the
-- process's beat, and goes with its row. Numbers are absolute and never below the truth: a process raises one by a grant that
-- has been committed, and lowers one after its holder has ended. Only holds outside a process have a token and an expiry here.

-- The capacity is the operators'; the number in code is its first value.
create table lanework.permits (
    id int generated always as identity unique,
    name text primary key check (length(name) between 1 and 200),
    capacity int not null check (capacity between 0 and 10000),
    set_by text not null default 'code',
    updated_at timestamptz not null default lanework.now()
);

-- `source` 0: taken by `take_permits`, for blocks of code; a lane's id: taken with the claims of that lane. Each source has one
-- call under way at a time.
create table lanework.permit_use (
    permit_id int not null,
    worker_id bigint not null,
    source int not null,
    used int not null check (used >= 0),
    call bigint not null default 0, -- the process's call that set it: one that comes late sets nothing
    jobs bigint[] not null default '{}',
    at timestamptz not null default lanework.now(),
    primary key (permit_id, worker_id, source)
) with (fillfactor = 50);
create index on lanework.permit_use (worker_id);

create table lanework.permit_holds (
    permit_id int not null,
    token uuid not null,
    fence bigint not null,
    holder text not null default '',
    job_id bigint,
    granted_at timestamptz not null,
    ttl interval not null,
    expires_at timestamptz not null,
    primary key (permit_id, token)
) with (fillfactor = 50);
create index on lanework.permit_holds (token);

-- Who waits, in order. A row counts until `until`, and whoever waits says so again before that.
create table lanework.permit_waiters (
    permit_id int not null,
    waiter bigint not null, -- a process, or a number below 0 for somebody outside one
    wanted int not null,
    since timestamptz not null,
    until timestamptz not null,
    primary key (permit_id, waiter)
) with (fillfactor = 50);

-- Jobs that wait for a permit, a rate or a budget, in claim order. (The two conditions are repeated by every query on it: a
-- partial index is used only where its predicate can be proved.)
create index jobs_parked on lanework.jobs (blocked_on, turn, rank, created_at, id)
    where status = 'blocked' and blocked_on <> 'session' and blocked_on <> 'children';

create function lanework.permit_lock(p_permit int) returns void
language sql volatile as $$ select pg_advisory_xact_lock(1279350097, p_permit) $$;

-- Rows for names that have none yet.
create function lanework.ensure_permits(p_names text[], p_capacities int[]) returns void
language plpgsql volatile as $$
begin
    if exists (select from unnest(p_names) n where not exists (select from lanework.permits p where p.name = n)) then
        insert into lanework.permits (name, capacity)
        select x.name, coalesce(x.capacity, 1) from unnest(p_names, p_capacities) as x(name, capacity)
        where not exists (select from lanework.permits p where p.name = x.name) order by x.name
        on conflict do nothing;
    end if;
end $$;

-- What one source of one process may still take of a permit, of which it has p_held. Exact only under the permit's lock.
-- Who has waited longer comes first.
create function lanework.permit_left(p_permit int, p_worker bigint, p_source int, p_held int, p_since timestamptz) returns int
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
begin
    return (
        select p.capacity - p_held
               - (select coalesce(sum(u.used), 0) from lanework.permit_use u
                  where u.permit_id = p.id and (u.worker_id <> p_worker or u.source <> p_source))
               - (select count(*) from lanework.permit_holds h where h.permit_id = p.id and h.expires_at > v_now)
               - (select coalesce(sum(w.wanted), 0) from lanework.permit_waiters w
                  where w.permit_id = p.id and w.waiter <> p_worker and w.until > v_now and w.since < p_since)
        from lanework.permits p where p.id = p_permit);
end $$;

-- Makes the first p_most jobs claimable that wait for p_key, and hints their lanes (but p_lane).
create function lanework.wake_parked(p_key text, p_most int, p_lane text default null) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    v_types int[];
begin
    if p_most <= 0 then return 0; end if;
    with first as materialized (
        select j.id from lanework.jobs j
        where j.status = 'blocked' and j.blocked_on = p_key and j.blocked_on <> 'session' and j.blocked_on <> 'children'
        order by j.turn, j.rank, j.created_at, j.id limit p_most for no key update skip locked
    ), woken as (
        update lanework.jobs j set status = 'approved', blocked_on = null where j.id = any (array(select f.id from first f))
        returning j.type_id
    )
    select array_agg(w.type_id) into v_types from woken w;
    if v_types is null then return 0; end if;
    perform lanework.hint_behind(x.lane) from (
        select distinct t.lane from lanework.job_types t where t.id = any (v_types) and t.lane is distinct from p_lane) x;
    return cardinality(v_types);
end $$;

-- p_freed of these permits have just been given back (or their capacity was raised): jobs that wait for them go on, processes
-- that wait are told.
create function lanework.permits_freed(p_permits int[], p_freed int[], p_lane text default null) returns void
language plpgsql volatile as $$
declare
    x record;
begin
    for x in
        select p.id, p.name, f.freed from unnest(p_permits, p_freed) as f(id, freed) join lanework.permits p on p.id = f.id
        where f.freed > 0 order by p.id
    loop
        perform lanework.wake_parked('permit:' || x.name, x.freed, p_lane);
        if pg_notification_queue_usage() < 0.25
           and exists (select from lanework.permit_waiters w where w.permit_id = x.id and w.until > lanework.now()) then
            perform pg_notify('lanework', '%' || x.name);
        end if;
    end loop;
end $$;

-- One call of a process for its blocks of code: says what it has, takes what it wants, all permits of one ask or none of them.
--
-- p_state     [{name, held, waiting, jobs, capacity}]: absolute numbers of every permit that it asks for or that has changed
-- p_asks      [{names, n}]: n grants of these names together
-- Answers one row per ask (how many were granted, 16 fences for each hold of each), and one row (ask -1) with the names that
-- others wait for. A process passes a hold on to its own next waiter with the next of its fences.
create function lanework.take_permits(p_worker bigint, p_call bigint, p_state jsonb, p_asks jsonb)
returns table (ask int, granted int, fences bigint[], names text[])
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_base bigint;
    v_names text[];
    v_ids int[];
    v_held int[];
    v_waiting int[];
    v_left int[];
    v_got int[];
    v_asked text[];
    v_jobs text[];
    v_was int[];
    v_late boolean;
    v_queues boolean;
    v_freed int[];
    v_since timestamptz[];
    v_most int;
    v_fences bigint[];
    a record;
    i int;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'permits need READ COMMITTED: what is counted must not be older than the lock' using errcode = 'LW100';
    elsif not lanework.living(p_worker, '{active,draining}') then
        raise exception 'worker % has ended', p_worker using errcode = 'LW401';
    end if;
    v_asked := array(select distinct n from jsonb_array_elements(p_asks) q, jsonb_array_elements_text(q -> 'names') n);
    if v_asked = '{}' then
        perform set_config('synchronous_commit', 'off', true); -- what is given back may be given back again
    else
        perform lanework.ensure_permits(array_agg(x.name order by x.name), array_agg(x.capacity order by x.name))
        from jsonb_to_recordset(p_state) as x(name text, capacity int);
        perform lanework.permit_lock(x.id) from (select p.id from lanework.permits p where p.name = any (v_asked) order by p.id) x;
    end if;
    v_now := lanework.now();
    -- who gives one back, because others wait, waits behind them
    select array_agg(x.name order by p.id), array_agg(p.id order by p.id), array_agg(x.held order by p.id), array_agg(x.waiting order by p.id),
           array_agg(x.jobs::text order by p.id), array_agg(coalesce(u.used, 0) order by p.id), coalesce(bool_or(u.call > p_call), false),
           array_agg(case when u.used > x.held or w.until <= v_now then v_now else coalesce(w.since, v_now) end order by p.id),
           coalesce(bool_or(w.waiter is not null or x.waiting > 0), false)
    into v_names, v_ids, v_held, v_waiting, v_jobs, v_was, v_late, v_since, v_queues
    from jsonb_to_recordset(p_state) as x(name text, held int, waiting int, jobs bigint[]) join lanework.permits p on p.name = x.name
    left join lanework.permit_use u on u.permit_id = p.id and u.worker_id = p_worker and u.source = 0
    left join lanework.permit_waiters w on w.permit_id = p.id and w.waiter = p_worker;
    if v_late then
        raise exception 'a later call of worker % came first', p_worker using errcode = 'LW401';
    end if;
    v_got := array_fill(0, array[coalesce(cardinality(v_ids), 0)]);
    if v_asked <> '{}' then
        v_left := array(
            select case when s.name = any (v_asked) then lanework.permit_left(s.id, p_worker, 0, s.held, s.since) else 0 end
            from unnest(v_ids, v_names, v_held, v_since) with ordinality as s(id, name, held, since, n) order by s.n);
    end if;

    for a in select q.n::int - 1 as n, array(select jsonb_array_elements_text(q.q -> 'names')) as names, (q.q ->> 'n')::int as wanted
             from jsonb_array_elements(p_asks) with ordinality as q(q, n)
    loop
        v_most := a.wanted;
        for i in 1 .. cardinality(v_names) loop
            if v_names[i] = any (a.names) then
                v_most := least(v_most, v_left[i]);
            end if;
        end loop;
        v_most := greatest(v_most, 0);
        v_fences := null;
        if v_most > 0 then
            v_base := coalesce(v_base, lanework.fence_base());
            for i in 1 .. cardinality(v_names) loop
                if v_names[i] = any (a.names) then
                    v_left[i] := v_left[i] - v_most;
                    v_got[i] := v_got[i] + v_most;
                end if;
            end loop;
            v_fences := array(select v_base + nextval('lanework.fences') from generate_series(1, 16 * v_most * cardinality(a.names)));
        end if;
        return query select a.n, v_most, v_fences, null::text[];
    end loop;

    insert into lanework.permit_use as u (permit_id, worker_id, source, used, call, jobs, at)
    select s.id, p_worker, 0, s.held + s.got, p_call, coalesce(s.jobs::bigint[], '{}'), v_now
    from unnest(v_ids, v_held, v_got, v_jobs) as s(id, held, got, jobs)
    order by s.id
    on conflict (permit_id, worker_id, source) do update
    set used = excluded.used, call = excluded.call, jobs = excluded.jobs, at = excluded.at;

    if v_queues then
        delete from lanework.permit_waiters w using unnest(v_ids, v_waiting, v_got) as s(id, waiting, got)
        where w.permit_id = s.id and w.waiter = p_worker and s.waiting <= s.got;
        insert into lanework.permit_waiters as w (permit_id, waiter, wanted, since, until)
        select s.id, p_worker, s.waiting - s.got, case when s.got > 0 then v_now else s.since end, v_now + interval '3 s'
        from unnest(v_ids, v_waiting, v_got, v_since) as s(id, waiting, got, since) where s.waiting > s.got order by s.id
        on conflict (permit_id, waiter) do update set wanted = excluded.wanted, since = excluded.since, until = excluded.until;
    end if;
    v_freed := array(select s.was - s.held - s.got from unnest(v_was, v_held, v_got) with ordinality as s(was, held, got, n) order by s.n);
    if 0 < any (v_freed) then
        perform lanework.permits_freed(v_ids, v_freed);
    end if;
    return query
        select -1, 0, null::bigint[], coalesce(array_agg(s.name), '{}')
        from unnest(v_ids, v_names) as s(id, name)
        where exists (select from lanework.permit_waiters w where w.permit_id = s.id and w.waiter <> p_worker and w.until > v_now)
           or exists (
               select from lanework.jobs j
               where j.status = 'blocked' and j.blocked_on = 'permit:' || s.name and j.blocked_on <> 'session' and j.blocked_on <> 'children'
               offset 0);
end $$;

-- Everything that a process had goes with it.
create function lanework.free_permits(p_worker bigint) returns void
language plpgsql volatile as $$
declare
    v_ids int[];
    v_freed int[];
begin
    with gone as (delete from lanework.permit_use u where u.worker_id = p_worker returning u.permit_id, u.used)
    select array_agg(g.permit_id), array_agg(g.used) into v_ids, v_freed
    from (select permit_id, sum(used)::int as used from gone group by permit_id) g;
    delete from lanework.permit_waiters w where w.waiter = p_worker;
    if v_ids is not null then
        perform lanework.permits_freed(v_ids, v_freed);
    end if;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Holds outside a process: a token, an expiry, renewed by whoever has the token.

-- Answers no row while the permits are not free. p_waiter (below 0) says who waits, so that others give way.
create function lanework.acquire_permits(
    p_names text[], p_capacity int, p_ttl interval, p_holder text, p_job bigint, p_token uuid, p_waiter bigint
) returns table (token uuid, fence bigint, expires_at timestamptz)
language plpgsql volatile
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_ids int[];
    v_fence bigint;
    v_waiter bigint := coalesce(p_waiter, 0);
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'permits need READ COMMITTED: what is counted must not be older than the lock' using errcode = 'LW100';
    elsif p_ttl <= interval '0' or p_ttl > interval '1 day' then
        raise exception 'ttl: expected more than 0 seconds and at most a day, got %', p_ttl using errcode = 'LW541';
    end if;
    perform lanework.ensure_permits(array_agg(n order by n), array_agg(p_capacity)) from unnest(p_names) n;
    v_ids := array(select p.id from lanework.permits p where p.name = any (p_names) order by p.id);
    perform lanework.permit_lock(x) from unnest(v_ids) x;
    v_now := lanework.now();
    -- an answer that was lost: the same token has it already
    return query select h.token, h.fence, h.expires_at from lanework.permit_holds h where h.token = p_token and h.expires_at > v_now limit 1;
    if found then return; end if;
    if exists (
        select from unnest(v_ids) x
        left join lanework.permit_waiters w on w.permit_id = x and w.waiter = v_waiter
        where lanework.permit_left(x, v_waiter, 0, 0, coalesce(w.since, v_now)) <= 0) then
        if p_waiter is not null then
            insert into lanework.permit_waiters as w (permit_id, waiter, wanted, since, until)
            select x, p_waiter, 1, v_now, v_now + interval '3 s' from unnest(v_ids) x
            on conflict (permit_id, waiter) do update set until = excluded.until;
        end if;
        return;
    end if;
    delete from lanework.permit_waiters w where w.permit_id = any (v_ids) and w.waiter = p_waiter;
    v_fence := lanework.fence_base() + nextval('lanework.fences');
    insert into lanework.permit_holds (permit_id, token, fence, holder, job_id, granted_at, ttl, expires_at)
    select x, p_token, v_fence, p_holder, p_job, v_now, p_ttl, v_now + p_ttl from unnest(v_ids) x;
    return query select p_token, v_fence, v_now + p_ttl;
end $$;

-- A hold that has expired is not brought back: somebody else may have been given it. Under the lock, so that no acquire counts
-- it as expired at the same moment.
create function lanework.renew_permits(p_token uuid, p_ttl interval) returns timestamptz
language plpgsql volatile
set lock_timeout = '2s'
as $$
declare
    v_now timestamptz;
    v_until timestamptz;
begin
    perform lanework.permit_lock(x.permit_id) from (
        select h.permit_id from lanework.permit_holds h where h.token = p_token order by h.permit_id) x;
    v_now := lanework.now();
    update lanework.permit_holds h set ttl = coalesce(p_ttl, h.ttl), expires_at = v_now + coalesce(p_ttl, h.ttl)
    where h.token = p_token and h.expires_at > v_now returning h.expires_at into v_until;
    return v_until;
end $$;

create function lanework.release_permits(p_token uuid) returns boolean
language plpgsql volatile as $$
declare
    v_ids int[];
begin
    with gone as (delete from lanework.permit_holds h where h.token = p_token returning h.permit_id)
    select array_agg(g.permit_id order by g.permit_id) into v_ids from gone g;
    if v_ids is null then return false; end if;
    perform lanework.permits_freed(v_ids, array_fill(1, array[cardinality(v_ids)]));
    return true;
end $$;

-- An operator takes a hold away: the fence is what protects after that.
create function lanework.revoke_permit(p_token uuid, p_by text) returns boolean
language plpgsql volatile as $$
declare
    v_before jsonb := (
        select jsonb_agg(to_jsonb(h) || jsonb_build_object('name', p.name)) from lanework.permit_holds h
        join lanework.permits p on p.id = h.permit_id where h.token = p_token);
begin
    if not lanework.release_permits(p_token) then return false; end if;
    perform lanework.audit(p_by, 'permit.release', 'permit:' || (v_before -> 0 ->> 'name'), v_before);
    return true;
end $$;

-- Changes a capacity, under the lock: no grant uses the old one after this has answered. Lowering it takes nothing away.
create function lanework.set_permit(p_name text, p_capacity int, p_by text) returns table (before jsonb, after jsonb)
language plpgsql volatile
set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
    v_before jsonb := (select to_jsonb(p) - 'id' from lanework.permits p where p.name = p_name);
    v_row lanework.permits%rowtype;
begin
    if p_capacity is null or p_capacity not between 0 and 10000 then
        raise exception 'capacity: expected 0 to 10000, got %', coalesce(p_capacity::text, 'null') using errcode = 'LW541';
    elsif p_name is null or length(p_name) not between 1 and 200 then
        raise exception 'name: expected 1 to 200 characters, got %', coalesce(quote_literal(p_name), 'null') using errcode = 'LW541';
    end if;
    perform lanework.ensure_permits(array[p_name], array[p_capacity]);
    select * into v_row from lanework.permits p where p.name = p_name;
    perform lanework.permit_lock(v_row.id);
    update lanework.permits p set capacity = p_capacity, set_by = coalesce(nullif(p_by, ''), 'operator'), updated_at = lanework.now()
    where p.id = v_row.id returning * into v_row;
    perform lanework.permits_freed(array[v_row.id], array[greatest(p_capacity - coalesce((v_before ->> 'capacity')::int, 0), 0)]);
    perform lanework.audit(p_by, 'permit.set', 'permit:' || p_name, v_before, to_jsonb(v_row) - 'id');
    return query select v_before, to_jsonb(v_row) - 'id';
end $$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Permits that a job type declares, taken with the claim.
--
-- p_limits   {types: {type id: [permit names]}, held: {permit name: n}, rates: {type id: rate name}}; null for a lane without any.
--            `held` is absolute: the runs of this lane in this worker that need the permit, after the finishes of this call.

-- What the lane's runs hold. A lower number frees: no lock is needed for that, who counts at this moment counts too much.
create function lanework.keep_permits(p_worker bigint, p_lane int, p_limits jsonb) returns void
language plpgsql volatile as $$
declare
    v_ids int[];
    v_freed int[];
begin
    with told as (
        select p.id, h.value::int as held, coalesce(u.used, 0) as was
        from jsonb_each_text(p_limits -> 'held') h join lanework.permits p on p.name = h.key
        left join lanework.permit_use u on u.permit_id = p.id and u.worker_id = p_worker and u.source = p_lane
    ), set as (
        insert into lanework.permit_use as u (permit_id, worker_id, source, used)
        select t.id, p_worker, p_lane, t.held from told t where t.held <> t.was order by t.id
        on conflict (permit_id, worker_id, source) do update set used = excluded.used, at = excluded.at
    )
    select array_agg(t.id), array_agg(t.was - t.held) into v_ids, v_freed from told t where t.was > t.held;
    if v_ids is not null then
        perform lanework.permits_freed(v_ids, v_freed, (select l.name from lanework.lanes l where l.id = p_lane));
    end if;
end $$;

-- The types of a lane that cannot start a job now: a permit has no room, or their rate is paused. Their first jobs are parked (at
-- most 50 wait so for each reason: the others are simply not looked at), and jobs that were parked for what is free now go on.
-- A job of a session keeps its place in it and is not parked.
create function lanework.shut_types(p_worker bigint, p_lane int, p_limits jsonb, p_want int) returns int[]
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    v_now timestamptz := lanework.now();
    v_lane text := (select l.name from lanework.lanes l where l.id = p_lane);
    v_full text[] := '{}';
    v_key text;
    v_parked int;
    v_shut int[] := '{}';
    x record;
begin
    for x in
        select p.name, lanework.permit_left(p.id, p_worker, p_lane, h.value::int, 'infinity') as room
        from jsonb_each_text(p_limits -> 'held') h join lanework.permits p on p.name = h.key order by p.id
    loop
        if x.room <= 0 then
            v_full := v_full || ('permit:' || x.name);
        else
            perform lanework.wake_parked('permit:' || x.name, least(x.room, p_want), v_lane);
        end if;
    end loop;
    for x in
        select distinct r.value as name, coalesce(b.paused_until > v_now, false) as paused
        from jsonb_each_text(p_limits -> 'rates') r left join lanework.rates b on b.name = r.value
    loop
        if x.paused then
            v_full := v_full || ('rate:' || x.name);
        else
            perform lanework.wake_parked('rate:' || x.name, p_want, v_lane);
        end if;
    end loop;
    if v_full = '{}' then return v_shut; end if;
    for x in
        select t.key::int as type, n.key as waits_for
        from (select e.key from jsonb_each(p_limits -> 'types') e union select e.key from jsonb_each(p_limits -> 'rates') e) t
        cross join lateral (
            select k.key from (
                select 'permit:' || n as key from jsonb_array_elements_text(coalesce(p_limits -> 'types' -> t.key, '[]')) n
                union all select 'rate:' || (p_limits -> 'rates' ->> t.key)) k
            where k.key = any (v_full) order by k.key limit 1) n
        order by 1
    loop
        v_shut := v_shut || x.type;
        v_key := x.waits_for;
        select count(*) into v_parked from (
            select from lanework.jobs j
            where j.status = 'blocked' and j.blocked_on = v_key and j.blocked_on <> 'session' and j.blocked_on <> 'children' limit 50) p;
        if v_parked < 50 then
            update lanework.jobs j set status = 'blocked', blocked_on = v_key
            where j.id = any (array(
                select h.id from lanework.jobs h
                where h.status = 'approved' and h.type_id = x.type and h.session is null
                order by h.turn, h.rank, h.created_at, h.id limit 50 - v_parked for no key update skip locked));
        end if;
    end loop;
    return v_shut;
end $$;

-- Of the jobs that a claim has chosen and locked, in claim order those whose permits are all free; and takes these permits.
-- All permits of the lane are locked, in one order: a claim that looks again needs no other ones.
create function lanework.take_declared(p_worker bigint, p_lane int, p_limits jsonb, p_ids bigint[]) returns bigint[]
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    v_names text[];
    v_permits int[];
    v_held int[];
    v_left int[];
    v_got int[];
    v_needs text[];
    v_ids bigint[] := '{}';
    v_fits boolean;
    x record;
begin
    if not exists (select from unnest(p_ids) i cross join lateral (
            select j.type_id from lanework.jobs j where j.id = i offset 0) j where p_limits -> 'types' ? j.type_id::text) then
        return p_ids;
    end if;
    select array_agg(p.name order by p.id), array_agg(p.id order by p.id), array_agg(h.value::int order by p.id)
    into v_names, v_permits, v_held
    from jsonb_each_text(p_limits -> 'held') h join lanework.permits p on p.name = h.key;
    perform lanework.permit_lock(i) from unnest(v_permits) i;
    v_left := array(
        select lanework.permit_left(s.id, p_worker, p_lane, s.held, 'infinity')
        from unnest(v_permits, v_held) with ordinality as s(id, held, n) order by s.n);
    v_got := array_fill(0, array[cardinality(v_permits)]);
    for x in
        select j.id, j.type_id from unnest(p_ids) i cross join lateral (
            select j.id, j.type_id, j.turn, j.rank, j.created_at from lanework.jobs j where j.id = i offset 0) j
        order by j.turn, j.rank, j.created_at, j.id
    loop
        v_needs := array(select jsonb_array_elements_text(p_limits -> 'types' -> x.type_id::text));
        v_fits := true;
        for i in 1 .. cardinality(v_names) loop
            v_fits := v_fits and not (v_names[i] = any (v_needs) and v_left[i] <= 0);
        end loop;
        continue when not v_fits;
        for i in 1 .. cardinality(v_names) loop
            if v_names[i] = any (v_needs) then
                v_left[i] := v_left[i] - 1;
                v_got[i] := v_got[i] + 1;
            end if;
        end loop;
        v_ids := v_ids || x.id;
    end loop;
    insert into lanework.permit_use as u (permit_id, worker_id, source, used)
    select s.id, p_worker, p_lane, s.held + s.got from unnest(v_permits, v_held, v_got) as s(id, held, got) where s.got > 0 order by s.id
    on conflict (permit_id, worker_id, source) do update set used = excluded.used, at = excluded.at;
    return v_ids;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Rates: requests and tokens in a window, by the generic cell rate algorithm. `limit` is what a window may have at most, counted
-- anywhere: the rate is lower than that by the burst. A moment (`…_at`) is all there is to remember: when what was granted will
-- have been earned.
create table lanework.rates (
    name text primary key check (length(name) between 1 and 200),
    requests double precision check (requests > 0),
    tokens double precision check (tokens > 0),
    window_s double precision not null default 60 check (window_s > 0),
    burst double precision not null default 0.05 check (burst > 0 and burst < 1), -- a share of the limits
    requests_at timestamptz not null default '-infinity',
    tokens_at timestamptz not null default '-infinity',
    paused_until timestamptz,
    set_by text not null default 'code',
    updated_at timestamptz not null default lanework.now()
) with (fillfactor = 50);

create function lanework.ensure_rate(p_name text, p_requests float8, p_tokens float8, p_window float8) returns void
language plpgsql volatile as $$
begin
    if not exists (select from lanework.rates r where r.name = p_name) then
        insert into lanework.rates (name, requests, tokens, window_s) values (p_name, p_requests, p_tokens, coalesce(p_window, 60))
        on conflict do nothing;
    end if;
end $$;

-- How many of p_want (at least p_least, or none) may go now, and else in how many seconds p_least may. `burst` and the pace are
-- in units; a p_least over the burst waits until so much has been earned beforehand, and is paid for afterwards as well: no
-- window that it touches has more than the limit.
create function lanework.rate_room(
    p_limit float8, p_window float8, p_burst float8, p_at timestamptz, p_now timestamptz, p_least float8, p_want float8,
    out grant_now float8, out wait_s float8, out next_at timestamptz
) language plpgsql immutable as $$
declare
    v_burst float8 := greatest(p_limit * p_burst, least(p_limit, 1));
    v_cost float8; -- seconds to earn one unit
    v_ahead float8; -- seconds that are spoken for already; below 0: idle for so long
begin
    -- single units one after the other, a little further apart than a window's share, are never more than the limit
    v_cost := case when v_burst <= 1 then 1.001 * p_window / p_limit else p_window / (p_limit - v_burst) end;
    v_ahead := case when p_at = '-infinity' then -p_window else greatest(extract(epoch from p_at - p_now), -p_window) end;
    wait_s := v_ahead + (p_least - v_burst) * v_cost;
    if wait_s > 1e-6 then
        grant_now := 0;
        next_at := p_at;
        return;
    end if;
    wait_s := 0;
    grant_now := greatest(p_least, least(p_want, v_burst - greatest(v_ahead, 0) / v_cost));
    next_at := p_now + make_interval(secs => (greatest(v_ahead, 0) + grant_now * v_cost));
end $$;

-- A slice for one process: at least p_requests and p_tokens, up to the wanted ones, or nothing and how long to wait.
create function lanework.take_rate(
    p_name text, p_requests float8, p_tokens float8, p_want_requests float8, p_want_tokens float8,
    out requests float8, out tokens float8, out wait_s float8
) language plpgsql volatile
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
    r lanework.rates%rowtype;
    v_now timestamptz;
    a record;
    v_requests_at timestamptz := '-infinity';
    v_tokens_at timestamptz := '-infinity';
begin
    select * into r from lanework.rates x where x.name = p_name for update;
    if not found then
        raise exception 'there is no rate %', quote_literal(p_name) using errcode = 'LW545';
    elsif p_requests > r.requests or p_tokens > r.tokens then
        raise exception 'tokens: % are over the limit of % for a whole window of rate %',
            coalesce(p_tokens, p_requests), coalesce(r.tokens, r.requests), quote_literal(p_name) using errcode = 'LW541';
    end if;
    v_now := lanework.now(); -- after the lock: grants are stamped in the order in which they are made
    if r.paused_until > v_now then
        requests := 0; tokens := 0; wait_s := extract(epoch from r.paused_until - v_now);
        return;
    end if;
    requests := p_want_requests; tokens := p_want_tokens; wait_s := 0;
    if r.requests is not null then
        select * into a from lanework.rate_room(r.requests, r.window_s, r.burst, r.requests_at, v_now, p_requests, p_want_requests);
        requests := floor(a.grant_now + 1e-9); wait_s := a.wait_s;
    end if;
    if r.tokens is not null then
        select * into a from lanework.rate_room(r.tokens, r.window_s, r.burst, r.tokens_at, v_now, p_tokens, p_want_tokens);
        tokens := a.grant_now; wait_s := greatest(wait_s, a.wait_s); v_tokens_at := a.next_at;
    end if;
    if wait_s > 0 then
        requests := 0; tokens := 0;
        return;
    end if;
    if r.requests is not null then -- what is granted is whole requests
        select * into a from lanework.rate_room(r.requests, r.window_s, r.burst, r.requests_at, v_now, requests, requests);
        v_requests_at := a.next_at;
    end if;
    update lanework.rates x set requests_at = v_requests_at, tokens_at = v_tokens_at, paused_until = null
    where x.name = p_name;
end $$;

-- Nobody gets anything for so long; after that the burst is one.
create function lanework.pause_rate(p_name text, p_seconds float8, p_by text default null) returns timestamptz
language plpgsql volatile as $$
declare
    r lanework.rates%rowtype;
    v_now timestamptz;
    v_until timestamptz;
begin
    perform lanework.ensure_rate(p_name, null, null, null);
    select * into r from lanework.rates x where x.name = p_name for update;
    v_now := lanework.now();
    v_until := greatest(r.paused_until, v_now + make_interval(secs => greatest(least(p_seconds, 86400), 0)));
    update lanework.rates x
    set paused_until = v_until,
        requests_at = case when x.requests is null then x.requests_at else greatest(
            x.requests_at, v_until + make_interval(secs => (greatest(x.requests * x.burst, 1) - 1)
                                                           * x.window_s / (x.requests - least(greatest(x.requests * x.burst, 1), x.requests / 2)))) end,
        tokens_at = case when x.tokens is null then x.tokens_at else greatest(
            x.tokens_at, v_until + make_interval(secs => x.tokens * x.burst * x.window_s / (x.tokens - x.tokens * x.burst))) end
    where x.name = p_name;
    if pg_notification_queue_usage() < 0.25 then
        perform pg_notify('lanework', '~' || p_name);
    end if;
    if p_by is not null then
        perform lanework.audit(p_by, 'rate.pause', 'rate:' || p_name, jsonb_build_object('paused_until', r.paused_until),
                               jsonb_build_object('paused_until', v_until));
    end if;
    return v_until;
end $$;

create function lanework.resume_rate(p_name text, p_by text) returns boolean
language plpgsql volatile as $$
declare
    v_before timestamptz;
begin
    select r.paused_until into v_before from lanework.rates r where r.name = p_name for update;
    if not found then
        raise exception 'there is no rate %', quote_literal(p_name) using errcode = 'LW545';
    end if;
    if v_before is null or v_before <= lanework.now() then return false; end if;
    -- as if the pause had been so long: the burst is one
    update lanework.rates r
    set paused_until = null, requests_at = r.requests_at - (v_before - lanework.now()), tokens_at = r.tokens_at - (v_before - lanework.now())
    where r.name = p_name;
    perform lanework.audit(p_by, 'rate.resume', 'rate:' || p_name, jsonb_build_object('paused_until', v_before));
    perform lanework.wake_parked('rate:' || p_name, 1000);
    return true;
end $$;

-- Only what p_changes names is changed: requests, tokens, window_s, burst.
create function lanework.set_rate(p_name text, p_changes jsonb, p_by text) returns table (before jsonb, after jsonb)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_before jsonb := (select to_jsonb(r) - 'requests_at' - 'tokens_at' from lanework.rates r where r.name = p_name);
    v_after jsonb;
begin
    perform lanework.ensure_rate(p_name, null, null, null);
    update lanework.rates r
    set requests = case when p_changes ? 'requests' then (p_changes ->> 'requests')::float8 else r.requests end,
        tokens = case when p_changes ? 'tokens' then (p_changes ->> 'tokens')::float8 else r.tokens end,
        window_s = coalesce((p_changes ->> 'window_s')::float8, r.window_s),
        burst = coalesce((p_changes ->> 'burst')::float8, r.burst),
        set_by = coalesce(nullif(p_by, ''), 'operator'), updated_at = lanework.now()
    where r.name = p_name returning to_jsonb(r) - 'requests_at' - 'tokens_at' into v_after;
    perform lanework.audit(p_by, 'rate.set', 'rate:' || p_name, v_before, v_after);
    return query select v_before, v_after;
end $$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Budgets: reserved before a call, by its upper bound; settled after it. spent + reserved is never over the amount.
create table lanework.budgets (
    name text primary key check (length(name) between 1 and 200),
    amount numeric(20, 6) not null check (amount >= 0),
    per text not null default 'total' check (per in ('hour', 'day', 'month', 'total')),
    set_by text not null default 'code',
    updated_at timestamptz not null default lanework.now()
);

-- A period of a budget: `since` is when it began (UTC), -infinity for a total.
create table lanework.budget_spend (
    name text not null,
    since timestamptz not null,
    reserved numeric(20, 6) not null default 0 check (reserved >= 0),
    spent numeric(20, 6) not null default 0 check (spent >= 0),
    primary key (name, since)
) with (fillfactor = 50);

-- Keyed by its own id, not by a claim: that a call was made stays true when the claim is lost.
create table lanework.reservations (
    id uuid primary key,
    at timestamptz not null,
    amount numeric(20, 6) not null check (amount >= 0),
    actual numeric(20, 6),
    state text not null default 'open' check (state in ('open', 'settled', 'released', 'unknown')),
    what text not null default '',
    job_id bigint,
    attempt int,
    worker_id bigint,
    settled_at timestamptz,
    names text[] not null,
    since timestamptz[] not null
);
create index on lanework.reservations (at) where state = 'open';
create index on lanework.reservations (worker_id) where state = 'open';
create index on lanework.reservations (job_id);

-- What a parked job would need: it goes on when the budget has so much again.
create table lanework.budget_waits (
    job_id bigint primary key,
    budget text not null,
    need numeric(20, 6) not null,
    at timestamptz not null default lanework.now()
);

create function lanework.period_of(p_per text, p_at timestamptz) returns timestamptz
language sql stable as $$
    select case p_per when 'total' then '-infinity'::timestamptz else date_trunc(p_per, p_at, 'UTC') end
$$;

create function lanework.budget_left(p_name text) returns numeric
language plpgsql volatile as $$
begin
    return (
        select b.amount - coalesce(s.spent + s.reserved, 0)
        from lanework.budgets b
        left join lanework.budget_spend s on s.name = b.name and s.since = lanework.period_of(b.per, lanework.now())
        where b.name = p_name);
end $$;

-- Reserves p_amount in every budget that applies: those named, which must exist, and of the job's own, its owner's, `day` and
-- p_what those that exist. All or none. `refused` names the budget that has not so much left; the job's need is kept.
create function lanework.reserve(
    p_id uuid, p_amount numeric, p_what text default '', p_names text[] default '{}',
    p_job bigint default null, p_attempt int default null, p_owner text default null, p_worker bigint default null
) returns table (refused text, amount_left numeric)
language plpgsql volatile
set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_names text[] := '{}';
    v_since timestamptz[] := '{}';
    v_missing text;
    v_left numeric;
    b lanework.budgets%rowtype;
begin
    if p_amount is null or p_amount < 0 or p_amount = 'NaN' then
        raise exception 'amount: expected an upper bound of 0 or more, got %', coalesce(p_amount::text, 'null') using errcode = 'LW551';
    end if;
    if exists (select from lanework.reservations r where r.id = p_id) then
        return; -- an answer that was lost
    end if;
    select n into v_missing from unnest(p_names) n where not exists (select from lanework.budgets x where x.name = n) limit 1;
    if found then
        raise exception 'there is no budget %', quote_literal(v_missing) using errcode = 'LW552';
    end if;
    -- rows locked in the order of their names; what they hold is read after the lock
    for b in
        select x.* from lanework.budgets x
        where x.name = any (p_names || array['job:' || p_job, 'owner:' || p_owner, 'day', nullif(p_what, '')])
        order by x.name for update
    loop
        v_now := lanework.now();
        v_names := v_names || b.name;
        v_since := v_since || lanework.period_of(b.per, v_now);
        v_left := lanework.budget_left(b.name);
        if v_left < p_amount then
            if p_job is not null then
                insert into lanework.budget_waits values (p_job, b.name, p_amount, v_now)
                on conflict (job_id) do update set budget = excluded.budget, need = excluded.need, at = excluded.at;
            end if;
            return query select b.name, v_left;
            return;
        end if;
    end loop;
    insert into lanework.budget_spend as s (name, since, reserved)
    select n.name, n.since, p_amount from unnest(v_names, v_since) as n(name, since) order by n.name
    on conflict (name, since) do update set reserved = s.reserved + excluded.reserved;
    insert into lanework.reservations (id, at, amount, what, job_id, attempt, worker_id, names, since)
    values (p_id, lanework.now(), p_amount, coalesce(p_what, ''), p_job, p_attempt, p_worker, v_names, v_since);
end $$;

-- What it cost (null: nobody knows, so all of it). Goes to the periods in which it was reserved. Twice is once; a later, better
-- knowledge of one that was `unknown` corrects it.
create function lanework.settle_reservation(p_id uuid, p_actual numeric) returns text
language plpgsql volatile
set lock_timeout = '5s'
as $$
declare
    r lanework.reservations%rowtype;
    v_spent numeric;
begin
    select * into r from lanework.reservations x where x.id = p_id for no key update;
    if not found then
        raise exception 'there is no reservation %', p_id using errcode = 'LW552';
    elsif p_actual < 0 or p_actual = 'NaN' then
        raise exception 'actual: expected 0 or more, got %', p_actual using errcode = 'LW551';
    elsif r.state in ('settled', 'released') or r.state = 'unknown' and p_actual is null then
        return r.state;
    end if;
    v_spent := coalesce(p_actual, r.amount);
    perform from lanework.budget_spend s where (s.name, s.since) in (select n, d from unnest(r.names, r.since) as x(n, d)) order by s.name for update;
    update lanework.budget_spend s
    set spent = s.spent + v_spent - case when r.state = 'unknown' then r.amount else 0 end,
        reserved = s.reserved - case when r.state = 'open' then r.amount else 0 end
    from (select n.name, n.since from unnest(r.names, r.since) as n(name, since)) n where s.name = n.name and s.since = n.since;
    update lanework.reservations x
    set state = case when p_actual is null then 'unknown' else 'settled' end, actual = p_actual, settled_at = lanework.now()
    where x.id = p_id;
    if r.job_id is not null then -- what the job has cost
        insert into lanework.spending (job_id, key, amount) values (r.job_id, 'reservation ' || p_id, v_spent)
        on conflict (job_id, key) do update set amount = excluded.amount;
    end if;
    if v_spent > r.amount then
        perform lanework.tell('budget', 'budget.overrun', r.job_id, jsonb_build_object('reservation', p_id, 'reserved', r.amount, 'actual', v_spent));
    end if;
    return case when p_actual is null then 'unknown' else 'settled' end;
end $$;

-- The call was never made.
create function lanework.release_reservation(p_id uuid) returns text
language plpgsql volatile
set lock_timeout = '5s'
as $$
declare
    r lanework.reservations%rowtype;
begin
    select * into r from lanework.reservations x where x.id = p_id for no key update;
    if not found then
        raise exception 'there is no reservation %', p_id using errcode = 'LW552';
    elsif r.state <> 'open' then
        return r.state;
    end if;
    perform from lanework.budget_spend s where (s.name, s.since) in (select n, d from unnest(r.names, r.since) as x(n, d)) order by s.name for update;
    update lanework.budget_spend s set reserved = s.reserved - r.amount
    from (select n.name, n.since from unnest(r.names, r.since) as n(name, since)) n where s.name = n.name and s.since = n.since;
    update lanework.reservations x set state = 'released', settled_at = lanework.now() where x.id = p_id;
    return 'released';
end $$;

-- A reservation whose process or attempt has ended: whether the call was made nobody knows, so it counts as spent.
create function lanework.settle_lost_reservations(p_limit int default 200) returns int
language plpgsql volatile as $$
declare
    v_ids uuid[];
begin
    select array_agg(x.id) into v_ids from (
        select r.id from lanework.reservations r
        where r.state = 'open' and r.worker_id is not null
          and (not exists (select from lanework.workers w where w.id = r.worker_id and w.state in ('active', 'draining'))
               or r.job_id is not null and not exists (
                   select from lanework.jobs j where j.id = r.job_id and j.status = 'running' and j.attempt = r.attempt offset 0))
        order by r.at limit p_limit for no key update skip locked) x;
    if v_ids is null then return 0; end if;
    perform lanework.settle_reservation(i, null) from (select i from unnest(v_ids) i order by i) x;
    return cardinality(v_ids);
end $$;

-- Jobs that wait for a budget and fit into what it has now, in claim order.
create function lanework.wake_budget(p_name text) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    v_left numeric := lanework.budget_left(p_name);
    v_ids bigint[];
    v_lanes text[];
begin
    select array_agg(x.id) into v_ids from (
        select j.id, sum(coalesce(w.need, 0)) over (order by j.turn, j.rank, j.created_at, j.id) as needed
        from (select j.id, j.turn, j.rank, j.created_at from lanework.jobs j
              where j.status = 'blocked' and j.blocked_on = 'budget:' || p_name and j.blocked_on <> 'session' and j.blocked_on <> 'children'
              order by j.turn, j.rank, j.created_at, j.id limit 500) j
        left join lanework.budget_waits w on w.job_id = j.id) x
    where v_left is null or x.needed <= v_left;
    if v_ids is null then return 0; end if;
    with locked as materialized (
        select j.id from lanework.jobs j where j.id = any (v_ids) and j.status::text = 'blocked' order by j.id for no key update skip locked
    ), woken as (
        update lanework.jobs j set status = 'approved', blocked_on = null where j.id = any (array(select l.id from locked l)) returning j.type_id
    )
    select array_agg(distinct t.lane) into v_lanes from woken w join lanework.job_types t on t.id = w.type_id;
    delete from lanework.budget_waits w where w.job_id = any (v_ids);
    perform lanework.hint_behind(l) from unnest(v_lanes) l;
    return cardinality(v_ids);
end $$;

create function lanework.set_budget(p_name text, p_amount numeric, p_per text, p_by text) returns table (before jsonb, after jsonb)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_before jsonb := (select to_jsonb(b) from lanework.budgets b where b.name = p_name);
begin
    if p_amount is null or p_amount < 0 or p_amount = 'NaN' then
        raise exception 'amount: expected 0 or more, got %', coalesce(p_amount::text, 'null') using errcode = 'LW551';
    elsif coalesce(p_per, 'total') not in ('hour', 'day', 'month', 'total') then
        raise exception 'per: expected hour, day, month or total, got %', quote_literal(p_per) using errcode = 'LW551';
    elsif p_name is null or length(p_name) not between 1 and 200 then
        raise exception 'name: expected 1 to 200 characters, got %', coalesce(quote_literal(p_name), 'null') using errcode = 'LW551';
    end if;
    insert into lanework.budgets as b (name, amount, per, set_by)
    values (p_name, p_amount, coalesce(p_per, 'total'), coalesce(nullif(p_by, ''), 'operator'))
    on conflict (name) do update
    set amount = excluded.amount, per = coalesce(p_per, b.per), set_by = excluded.set_by, updated_at = lanework.now();
    perform lanework.audit(p_by, 'budget.set', 'budget:' || p_name, v_before, (select to_jsonb(b) from lanework.budgets b where b.name = p_name));
    perform lanework.wake_budget(p_name);
    return query select v_before, to_jsonb(b) from lanework.budgets b where b.name = p_name;
end $$;

create function lanework.remove_budget(p_name text, p_by text) returns boolean
language plpgsql volatile as $$
declare
    v_before jsonb;
begin
    delete from lanework.budgets b where b.name = p_name returning to_jsonb(b) into v_before;
    if not found then return false; end if;
    perform lanework.audit(p_by, 'budget.remove', 'budget:' || p_name, v_before);
    perform lanework.wake_budget(p_name);
    return true;
end $$;

-- A job's own budget, if it has one (an approval "up to this sum" writes it).
create function lanework.job_budget(p_job bigint) returns table (amount numeric, spent numeric, reserved numeric, amount_left numeric)
language sql stable as $$
    select b.amount, coalesce(s.spent, 0), coalesce(s.reserved, 0), b.amount - coalesce(s.spent + s.reserved, 0)
    from lanework.budgets b left join lanework.budget_spend s on s.name = b.name and s.since = lanework.period_of(b.per, lanework.now())
    where b.name = 'job:' || p_job
$$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Everybody's share of a sweep: what a wake-up has missed, and what was left behind.
create function lanework.sweep_limits() returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    v_now timestamptz := lanework.now();
    v_key text := '';
    v_name text;
begin
    loop -- from reason to reason, not through the jobs
        select j.blocked_on into v_key from lanework.jobs j
        where j.status = 'blocked' and j.blocked_on > v_key and j.blocked_on <> 'session' and j.blocked_on <> 'children'
        order by j.blocked_on limit 1;
        exit when not found;
        v_name := substr(v_key, position(':' in v_key) + 1);
        case split_part(v_key, ':', 1)
            when 'permit' then
                perform lanework.wake_parked(v_key, coalesce((
                    select lanework.permit_left(p.id, 0, 0, 0, 'infinity') from lanework.permits p where p.name = v_name), 50));
            when 'rate' then
                if not exists (select from lanework.rates r where r.name = v_name and r.paused_until > v_now) then
                    perform lanework.wake_parked(v_key, 500);
                end if;
            when 'budget' then
                perform lanework.wake_budget(v_name);
            else
                null;
        end case;
    end loop;
    if exists (select from lanework.permit_holds h where h.expires_at < v_now) then
        delete from lanework.permit_holds h where (h.permit_id, h.token) in (
            select x.permit_id, x.token from lanework.permit_holds x where x.expires_at < v_now limit 500 for update skip locked);
    end if;
    delete from lanework.permit_waiters w where (w.permit_id, w.waiter) in (
        select x.permit_id, x.waiter from lanework.permit_waiters x where x.until < v_now - interval '10 s' limit 500 for update skip locked);
    perform lanework.settle_lost_reservations();
end $$;

-- The leader's share: what nobody asks for any more.
create function lanework.prune_limits(p_limit int) returns void
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
begin
    delete from lanework.reservations r where r.id in (
        select x.id from lanework.reservations x where x.state <> 'open' and x.at < v_now - lanework.keep('completed') limit p_limit);
    delete from lanework.budget_spend s where s.since > '-infinity' and s.since < v_now - lanework.keep('rollups') and s.reserved = 0;
    delete from lanework.budgets b where b.name in (
        select x.name from lanework.budgets x
        where x.name like 'job:%' and x.updated_at < v_now - lanework.keep('completed')
          and not exists (select from lanework.jobs j where 'job:' || j.id = x.name) limit 100);
    delete from lanework.budget_waits w where w.at < v_now - interval '1 day' and not exists (select from lanework.jobs j where j.id = w.job_id);
end $$;
