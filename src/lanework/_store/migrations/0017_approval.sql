-- Approval: what a job would cost, who says yes to it, and that nothing starts before an approval of exactly this payload.
--
-- A new job whose type has an estimator is `pending` until its estimate is there; one that needs a yes is `awaiting_approval`. Neither
-- state is in a claim index, and neither holds the job's session: an approved job joins its session's order by its id.

-- Operators' rules. '*' means any; the most specific one holds: type and owner, type, owner, all. Where there is none, the type's own
-- columns hold, which code writes. A null in a rule is as the type says.
create table lanework.approval_rules (
    type text not null default '*',
    owner text not null default '*',
    policy text not null check (policy in ('always', 'never', 'above')),
    above numeric check (above >= 0 and above < 1e12),
    currency text,
    four_eyes boolean,
    set_by text not null,
    updated_at timestamptz not null default lanework.now(),
    primary key (type, owner),
    check ((policy = 'above') = (above is not null))
);

-- One estimating job per pending job. A row lives until its result has been taken, or is of no use any more.
create table lanework.estimating (
    job_id bigint primary key,
    estimate_id bigint not null unique,
    hash text not null,
    at timestamptz not null default lanework.now()
);

-- What a job was estimated at. `failed`: nobody knows, and the warning says why. `ask`: why this one needs a yes, whatever its rule.
create table lanework.estimates (
    job_id bigint primary key,
    estimate_id bigint,
    hash text not null,
    low numeric,
    high numeric,
    currency text not null default 'USD',
    tokens bigint,
    items bigint,
    seconds double precision,
    warnings text[] not null default '{}',
    failed boolean not null default false,
    ask text,
    at timestamptz not null default lanework.now()
);

-- What a job has really cost: facts about the outside world, told whether or not the attempt that tells them still holds its job.
create table lanework.spending (
    job_id bigint not null,
    key text not null,
    amount numeric not null default 0,
    currency text not null default 'USD',
    tokens bigint not null default 0,
    items bigint not null default 0,
    at timestamptz not null default lanework.now(),
    primary key (job_id, key)
);

-- Jobs that wait for somebody's yes: since when, until when, and why they need one.
create table lanework.approval_requests (
    job_id bigint primary key,
    since timestamptz not null,
    expires_at timestamptz not null,
    why text not null
);
create index on lanework.approval_requests (expires_at);

-- The approval that a job has, for the payload of this hash. `limit_amount`: up to this sum.
create table lanework.approvals (
    job_id bigint primary key,
    hash text not null,
    limit_amount numeric,
    approved_by text not null,
    at timestamptz not null default lanework.now()
);

-- Whose hand was the last on a job's payload, if somebody has changed it.
create table lanework.edits (
    job_id bigint primary key,
    edited_by text not null,
    at timestamptz not null default lanework.now()
);

create index jobs_pending on lanework.jobs (id) where status = 'pending';
create index job_types_gated on lanework.job_types (id) where approval <> 'never' or estimator is not null;

-- What an approval is for: the type, the version, the payload, and whose job it is. (No edit changes the other options.)
create function lanework.job_hash(p_type text, p_version int, p_payload jsonb, p_owner text) returns text
language sql immutable parallel safe as $$
    select left(encode(sha256(convert_to(
        jsonb_build_array(p_type, p_version, p_owner)::text || ' ' || p_payload::text, 'UTF8')), 'hex'), 32)
$$;

create function lanework.hash_of(j lanework.jobs) returns text
language sql stable as $$
    select lanework.job_hash(t.name, j.version, j.payload, j.owner) from lanework.job_types t where t.id = j.type_id
$$;

-- The rule that holds for a job of this type and owner.
create function lanework.approval_rule(p_type int, p_owner text)
returns table (policy text, above numeric, currency text, four_eyes boolean)
language sql stable as $$
    select coalesce(r.policy, t.approval), coalesce(r.above, t.approval_above), coalesce(r.currency, t.approval_currency),
           coalesce(r.four_eyes, t.four_eyes)
    from lanework.job_types t
    left join lateral (
        select * from lanework.approval_rules x
        where x.type in (t.name, '*') and x.owner in (coalesce(p_owner, '*'), '*') and t.estimates is null
        order by x.type <> '*' desc, x.owner <> '*' desc limit 1) r on true
    where t.id = p_type
$$;

-- Why a job needs a yes, by its rule and its estimate; null: it needs none.
create function lanework.why_approval(p_type int, p_owner text, e lanework.estimates) returns text
language sql stable as $$
    select case
        when e.failed then 'its cost is not known: ' || array_to_string(e.warnings, '; ')
        when e.ask <> '' then e.ask
        when r.policy = 'always' then 'every job of this kind needs an approval'
        when r.policy = 'never' then null
        when e.job_id is null then format('over %s %s needs an approval, and its cost is not known', r.above, r.currency)
        when coalesce(e.high, e.low) is null then format('over %s %s needs an approval, and its estimate names no sum', r.above, r.currency)
        when e.currency <> r.currency then format('over %s %s needs an approval, and its estimate is in %s', r.above, r.currency, e.currency)
        when greatest(e.high, e.low) > r.above then
            format('up to %s %s is over %s %s', greatest(e.high, e.low), e.currency, r.above, r.currency)
        end
    from lanework.approval_rule(p_type, p_owner) r
$$;

-- Puts new (or edited) jobs where they belong: `pending` with an estimating job, `awaiting_approval`, or where they are. What was
-- approved or estimated before, with the same hash (a redrive), is not asked for again.
create function lanework.gate(p_ids bigint[]) returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
    v_lanes text[];
    v_asked bigint[];
begin
    if p_ids = '{}' then return; end if; -- the estimating jobs of its own insert come here too
    -- From each id by one look to its row, and from there by one look each to whatever belongs to it (`offset 0`): nothing here is
    -- joined, so that a thousand jobs cost a thousand times one, whatever the plan was made for.
    with known as materialized (
        select j.place, j.id, j.owner, j.rank, j.version, j.payload, j.hash, j.patience, w.why,
               s.id as estimator, s.lane, s.max_tries, case when s.id is not null and e is null then nextval('lanework.job_ids') end as estimate_id
        from (select u from unnest(p_ids) u order by u) u
        cross join lateral (
            select x.ctid as place, x.*, t.estimator, t.approval_expiry_s as patience,
                   lanework.job_hash(t.name, x.version, x.payload, x.owner) as hash
            from lanework.jobs x join lanework.job_types t on t.id = x.type_id
            where x.id = u.u and x.status in ('approved', 'scheduled', 'blocked') offset 0) j
        left join lateral (select k.id, k.lane, k.max_tries from lanework.job_types k where k.name = j.estimator offset 0) s on true
        left join lateral (select o from lanework.estimates o where o.job_id = j.id and o.hash = j.hash offset 0) f(e) on true
        cross join lateral (select lanework.why_approval(j.type_id, j.owner, f.e) as why offset 0) w
        where not exists (select from lanework.approvals a where a.job_id = j.id and a.hash = j.hash offset 0)
    ), asked as (
        insert into lanework.approval_requests (job_id, since, expires_at, why)
        select k.id, v_now, v_now + make_interval(secs => k.patience), k.why from known k where k.estimate_id is null and k.why is not null
        on conflict (job_id) do update set since = excluded.since, expires_at = excluded.expires_at, why = excluded.why
        returning job_id
    ), held as (
        update lanework.jobs j
        set status = case when k.estimate_id is null then 'awaiting_approval' else 'pending' end::lanework.job_status, blocked_on = null, turn = 0
        from known k where j.ctid = k.place and j.id = k.id and (k.estimate_id is not null or k.why is not null)
    ), steps as (
        -- what the job has inherited is known to its estimate too
        insert into lanework.steps (job_id, key, attempt, result, blob)
        select k.estimate_id, s.key, 0, s.result, s.blob from known k
        cross join lateral (select x.* from lanework.steps x where x.job_id = k.id order by x.seq offset 0) s where k.estimate_id is not null
    ), pairs as (
        insert into lanework.estimating (job_id, estimate_id, hash, at)
        select k.id, k.estimate_id, k.hash, v_now from known k where k.estimate_id is not null
        on conflict (job_id) do update set estimate_id = excluded.estimate_id, hash = excluded.hash, at = excluded.at
    ), jobs as (
        -- it `continues` the job it is for: what that one has stored is looked up, and the two can be found from each other
        insert into lanework.jobs (id, created_at, status, type_id, rank, version, max_tries, owner, payload, continues)
        select k.estimate_id, v_now, 'approved', k.estimator, k.rank, k.version, k.max_tries, k.owner, k.payload, k.id
        from known k where k.estimate_id is not null
    )
    select array(select distinct k.lane from known k where k.estimate_id is not null), array(select a.job_id from asked a order by 1)
    into v_lanes, v_asked;
    if v_asked <> '{}' then
        insert into lanework.events (topic, kind, job_ids) values ('job', 'awaiting_approval', v_asked);
    end if;
    perform lanework.hint(l) from unnest(v_lanes) l;
end $$;

-- Lets a job go on that needs nothing more: into its session's order, to its moment, or into the queue.
create function lanework.let_go(p_id bigint) returns lanework.job_status
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_now timestamptz := lanework.now();
    j lanework.jobs%rowtype;
begin
    update lanework.jobs x
    set status = lanework.first_status(x.run_at, x.session, v_now),
        run_at = case when x.run_at > v_now then x.run_at end,
        blocked_on = case when x.session is not null then 'session' end
    where x.id = p_id and x.status in ('pending', 'awaiting_approval')
    returning * into j;
    delete from lanework.approval_requests r where r.job_id = p_id;
    if j.session is not null then
        perform lanework.promote_sessions(array[j.session]);
        return (select x.status from lanework.jobs x where x.id = p_id);
    end if;
    if j.status = 'approved' then
        perform lanework.take_turns(array[p_id], array[j.type_id]);
    end if;
    perform lanework.hint(t.lane) from lanework.job_types t where t.id = j.type_id and j.status = 'approved';
    return j.status;
end $$;

-- An estimate as a row, from what the estimator returned. What cannot be read is an estimate that failed.
create function lanework.read_estimate(p_job bigint, p_estimate bigint, p_hash text, p_result jsonb, p_failure text) returns lanework.estimates
language plpgsql volatile as $$
declare
    e lanework.estimates%rowtype;
begin
    e.job_id := p_job; e.estimate_id := p_estimate; e.hash := p_hash; e.currency := 'USD'; e.at := lanework.now();
    e.failed := p_failure is not null; e.warnings := '{}';
    if not e.failed then
        begin
            e.low := (p_result ->> 'low')::numeric; e.high := (p_result ->> 'high')::numeric;
            e.tokens := (p_result ->> 'tokens')::bigint; e.items := (p_result ->> 'items')::bigint;
            e.seconds := (p_result ->> 'seconds')::float8; e.currency := coalesce(p_result ->> 'currency', 'USD');
            e.warnings := array(select jsonb_array_elements_text(coalesce(p_result -> 'warnings', '[]')));
            e.ask := left(p_result ->> 'ask', 500);
            e.failed := p_result is null or jsonb_typeof(p_result) <> 'object' or coalesce(e.low > e.high, false)
                        or coalesce(e.low < 0, false) or coalesce(e.high < 0, false) or 'NaN' in (coalesce(e.low, 0), coalesce(e.high, 0));
        exception when data_exception then
            e.failed := true;
        end;
    end if;
    if e.failed then
        e.low := null; e.high := null;
        e.warnings := array[coalesce(p_failure, 'its estimator returned no estimate: ' || left(p_result::text, 200))];
    end if;
    return e;
end $$;

-- After jobs have ended: takes the results of estimating jobs among them, in the transaction of their end, and ends estimating jobs
-- that nobody needs any more. A row that somebody holds is left for the sweep.
create function lanework.estimated(p_ids bigint[]) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    r record;
    j lanework.jobs%rowtype;
    e lanework.estimates%rowtype;
    v_why text;
    v_steps int;
    v_live boolean;
    v_count int := 0;
begin
    for r in
        select pair.job_id, pair.estimate_id, pair.hash from unnest(p_ids) u
        cross join lateral (
            select x.* from lanework.estimating x where x.estimate_id = u
            union all select x.* from lanework.estimating x where x.job_id = u offset 0) pair
        order by pair.job_id
    loop
        v_live := exists (select from lanework.jobs x where x.id = r.estimate_id);
        continue when v_live and exists (select from lanework.jobs x where x.id = r.job_id and x.status = 'pending');
        select * into j from lanework.jobs x where x.id = r.job_id and x.status = 'pending' for no key update skip locked;
        if not found then
            if not exists (select from lanework.jobs x where x.id = r.job_id and x.status = 'pending') then
                delete from lanework.estimating x where x.job_id = r.job_id;
                if v_live then
                    perform lanework.put_down(r.estimate_id, '', 'the job that it was for does not wait for it any more');
                end if;
            end if;
            continue;
        end if;
        select * into e from lanework.read_estimate(
            j.id, r.estimate_id, r.hash, (select d.result from lanework.jobs_done d where d.id = r.estimate_id), nullif(coalesce(
            (select case when d.status = 'completed' then '' else 'its estimate was cancelled' || coalesce(': ' || nullif(d.reason, ''), '') end
             from lanework.jobs_done d where d.id = r.estimate_id),
            (select format('its estimate failed (%s): %s', f.error_class, left(f.error, 500)) from lanework.jobs_failed f where f.id = r.estimate_id),
            'its estimate was lost'), ''));
        delete from lanework.estimating x where x.job_id = j.id;
        delete from lanework.estimates x where x.job_id = j.id;
        insert into lanework.estimates select e.*;
        -- what the estimate has fetched and paid for is the run's
        insert into lanework.steps (job_id, key, attempt, result, blob)
        select j.id, s.key, 0, s.result, s.blob from lanework.steps s where s.job_id = r.estimate_id order by s.seq
        on conflict (job_id, key) do nothing;
        get diagnostics v_steps = row_count;
        insert into lanework.job_blobs (job_id, hash) select j.id, b.hash from lanework.job_blobs b where b.job_id = r.estimate_id
        on conflict do nothing;
        delete from lanework.steps s where s.job_id = r.estimate_id;
        delete from lanework.job_blobs b where b.job_id = r.estimate_id;
        if v_steps > 0 and j.continues is null then -- so that its first attempt looks for them
            update lanework.jobs x set continues = r.estimate_id where x.id = j.id;
        end if;
        v_why := lanework.why_approval(j.type_id, j.owner, e);
        if v_why is null then
            perform lanework.let_go(j.id);
        else
            perform lanework.ask_approval(j.id, v_why);
        end if;
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;

-- From here on a person decides, or the time runs out.
create function lanework.ask_approval(p_id bigint, p_why text) returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_now timestamptz := lanework.now();
begin
    insert into lanework.approval_requests (job_id, since, expires_at, why)
    select j.id, v_now, v_now + make_interval(secs => t.approval_expiry_s), p_why
    from lanework.jobs j join lanework.job_types t on t.id = j.type_id where j.id = p_id
    on conflict (job_id) do update set since = excluded.since, expires_at = excluded.expires_at, why = excluded.why;
    update lanework.jobs j set status = 'awaiting_approval', blocked_on = null where j.id = p_id;
    perform lanework.tell('job', 'awaiting_approval', p_id, jsonb_build_object('why', p_why));
end $$;

-- Is this the same hand? 'cli:ada' and 'ada' are: what stands before the colon is the way, not the person.
create function lanework.person(p_who text) returns text
language sql immutable as $$ select nullif(regexp_replace(lower(p_who), '^[a-z]+:', ''), '') $$;

-- Why this person may not approve this job; null: he may.
create function lanework.second_pair_missing(j lanework.jobs, p_who text) returns text
language sql stable as $$
    select case
        when not r.four_eyes then null
        when lanework.person(p_who) is null then 'by: it needs a second person, and nobody is named'
        when j.owner is null then 'owner: it needs a second person, and it does not say whose it is'
        when lanework.person(p_who) = lanework.person(j.owner) then format('by: %s cannot approve a job of his own; somebody else must', p_who)
        when lanework.person(p_who) = (select lanework.person(d.edited_by) from lanework.edits d where d.job_id = j.id)
            then format('by: %s has edited this job; somebody else must approve it', p_who)
        end
    from lanework.approval_rule(j.type_id, j.owner) r
$$;

-- Ends a waiting job for the engine's own reasons, or for an act that has an audit row of its own.
create function lanework.put_down(p_id bigint, p_who text, p_reason text) returns text
language sql volatile as $$ select lanework.stop_job(p_id, p_who, p_reason, true) $$;

-- Approves exactly what p_hash stands for. Answers the job's next state, or null if there is no such job.
create function lanework.approve(p_id bigint, p_hash text, p_limit numeric default null, p_by text default '') returns text
language plpgsql volatile as $$
declare
    v_next text := lanework.give_approval(p_id, p_hash, p_limit, p_by);
begin
    if v_next is not null then
        perform lanework.audit(p_by, 'job.approve', 'job:' || p_id, jsonb_build_object('status', 'awaiting_approval'),
                               jsonb_build_object('status', v_next, 'hash', p_hash, 'limit', p_limit));
    end if;
    return v_next;
end $$;

create function lanework.give_approval(p_id bigint, p_hash text, p_limit numeric, p_who text) returns text
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    j lanework.jobs%rowtype;
    e lanework.estimates%rowtype;
    v_hash text;
    v_why text;
begin
    select * into j from lanework.jobs x where x.id = p_id for no key update;
    if not found then
        select x.status::text into v_why from lanework.all_jobs x where x.id = p_id;
        if not found then return null; end if;
        raise exception 'job % is %; there is nothing to approve', p_id, v_why using errcode = 'LW521';
    elsif j.status = 'pending' then
        raise exception 'job % is pending: its cost is being estimated; approve it when the estimate is there', p_id using errcode = 'LW521';
    elsif j.status <> 'awaiting_approval' then
        raise exception 'job % is %; there is nothing to approve', p_id, j.status using errcode = 'LW521';
    end if;
    v_hash := lanework.hash_of(j);
    if p_hash is distinct from v_hash then
        raise exception 'hash: job % is not what was shown: its hash is %, not %; look at it again', p_id, v_hash, coalesce(p_hash, 'null')
            using errcode = 'LW520';
    end if;
    v_why := lanework.second_pair_missing(j, p_who);
    if v_why is not null then
        raise exception '%', v_why using errcode = 'LW522';
    end if;
    select * into e from lanework.estimates x where x.job_id = p_id and x.hash = v_hash;
    if p_limit is not null and (p_limit < 0 or p_limit >= 1e12 or p_limit = 'NaN') then
        raise exception 'limit: expected a sum from 0 on, got %', p_limit using errcode = 'LW523';
    elsif p_limit < e.low then
        raise exception 'limit: % is below the least that job % will cost by its estimate (% to % %); it could not finish',
            p_limit, p_id, e.low, e.high, e.currency using errcode = 'LW523';
    end if;
    insert into lanework.approvals (job_id, hash, limit_amount, approved_by, at)
    values (p_id, v_hash, p_limit, coalesce(nullif(p_who, ''), 'unknown'), lanework.now())
    on conflict (job_id) do update
    set hash = excluded.hash, limit_amount = excluded.limit_amount, approved_by = excluded.approved_by, at = excluded.at;
    -- the sum is the job's own budget: every reservation that it makes is taken from it
    if p_limit is not null then
        insert into lanework.budgets (name, amount, set_by) values ('job:' || p_id, p_limit, 'approval')
        on conflict (name) do update set amount = excluded.amount, set_by = excluded.set_by, updated_at = lanework.now();
    else
        delete from lanework.budgets b where b.name = 'job:' || p_id and b.set_by = 'approval';
    end if;
    return lanework.let_go(p_id);
end $$;

-- Says no: the job is cancelled, with the reason. Answers 'cancelled', or null if there is no such job.
create function lanework.reject(p_id bigint, p_reason text, p_by text default '') returns text
language plpgsql volatile as $$
declare
    v_before text := lanework.turn_down(p_id, p_reason, p_by);
begin
    if v_before is null then return null; end if;
    perform lanework.audit(p_by, 'job.reject', 'job:' || p_id, jsonb_build_object('status', v_before),
                           jsonb_build_object('status', 'cancelled', 'reason', p_reason));
    return 'cancelled';
end $$;

-- Answers the state that the job was in.
create function lanework.turn_down(p_id bigint, p_reason text, p_who text) returns text
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_status text;
begin
    if coalesce(trim(p_reason), '') = '' then
        raise exception 'reason: say why, for whoever submitted it' using errcode = 'LW523';
    end if;
    select x.status::text into v_status from lanework.jobs x where x.id = p_id for no key update;
    if not found then
        select x.status::text into v_status from lanework.all_jobs x where x.id = p_id;
        if not found then return null; end if;
    end if;
    if v_status not in ('pending', 'awaiting_approval') then
        raise exception 'job % is %; there is nothing to reject', p_id, v_status using errcode = 'LW521';
    end if;
    perform lanework.put_down(p_id, p_who, p_reason);
    return v_status;
end $$;

-- Changes the payload of a job that waits, and starts it anew: its approval, its estimate and what it has stored were for another
-- payload. Answers the job's next state, or null if there is no such job.
create function lanework.edit(p_id bigint, p_payload jsonb, p_version int default null, p_by text default '') returns text
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    j lanework.jobs%rowtype;
    v_status text;
    v_estimate bigint;
    v_before text;
begin
    if p_payload is null or jsonb_typeof(p_payload) <> 'object' then
        raise exception 'payload: expected a JSON object, got %', coalesce(jsonb_typeof(p_payload), 'null') using errcode = 'LW300';
    elsif octet_length(p_payload::text) > 262144 then
        raise exception 'payload: % bytes are over the limit of 262144; store the data elsewhere and pass its key',
            octet_length(p_payload::text) using errcode = 'LW300';
    elsif p_version not between 1 and 32767 then
        raise exception 'version: expected 1 to 32767, got %', p_version using errcode = 'LW300';
    end if;
    select * into j from lanework.jobs x where x.id = p_id for no key update;
    if not found then
        select x.status::text into v_status from lanework.all_jobs x where x.id = p_id;
        if not found then return null; end if;
        raise exception 'job % is %; submit a new one', p_id, v_status using errcode = 'LW524';
    elsif j.status = 'running' then
        raise exception 'job % is running; cancel it and submit a new one', p_id using errcode = 'LW524';
    elsif exists (select from lanework.children c where c.parent_id = p_id) then
        raise exception 'job % has submitted children for what it is now; cancel it and submit a new one', p_id using errcode = 'LW524';
    elsif exists (select from lanework.job_types t where t.id = j.type_id and t.estimates is not null) then
        raise exception 'job % is an estimate; edit the job that it is for', p_id using errcode = 'LW524';
    end if;
    v_before := lanework.hash_of(j);
    -- hash and state change together: the hash is that of the row
    update lanework.jobs x
    set payload = p_payload, version = coalesce(p_version, x.version),
        status = lanework.first_status(x.run_at, x.session, lanework.now()),
        blocked_on = case when x.session is not null then 'session' end,
        run_at = case when x.run_at > lanework.now() then x.run_at end,
        continues = case when x.continues = (select e.estimate_id from lanework.estimates e where e.job_id = x.id) then null else x.continues end
    where x.id = p_id;
    delete from lanework.approvals a where a.job_id = p_id;
    delete from lanework.estimates e where e.job_id = p_id;
    delete from lanework.approval_requests r where r.job_id = p_id;
    delete from lanework.steps s where s.job_id = p_id;
    delete from lanework.job_blobs b where b.job_id = p_id;
    delete from lanework.checkpoints c where c.job_id = p_id;
    delete from lanework.item_errors i where i.job_id = p_id;
    delete from lanework.progress g where g.job_id = p_id;
    insert into lanework.edits (job_id, edited_by, at) values (p_id, coalesce(nullif(p_by, ''), 'unknown'), lanework.now())
    on conflict (job_id) do update set edited_by = excluded.edited_by, at = excluded.at;
    delete from lanework.estimating x where x.job_id = p_id returning x.estimate_id into v_estimate;
    if v_estimate is not null then
        perform lanework.put_down(v_estimate, p_by, 'the job that it was for was edited');
    end if;
    perform lanework.gate(array[p_id]);
    perform lanework.audit(p_by, 'job.edit', 'job:' || p_id, jsonb_build_object('hash', v_before, 'status', j.status),
                           (select jsonb_build_object('hash', lanework.hash_of(x), 'status', x.status) from lanework.jobs x where x.id = p_id));
    if j.session is not null then
        perform lanework.promote_sessions(array[j.session]);
    end if;
    select * into j from lanework.jobs x where x.id = p_id;
    perform lanework.hint(t.lane) from lanework.job_types t where t.id = j.type_id and j.status = 'approved';
    return j.status;
end $$;

-- Approves many, for an act by filter: only what has waited since before the act was asked for (`asked_at`, or when the operation
-- began), so that nothing is approved that nobody can have seen; what one may not approve is left out. Answers how many.
create function lanework.carry_approve(p_ids bigint[], p_args jsonb, p_by text, p_operation bigint) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    j lanework.jobs%rowtype;
    v_asked timestamptz := coalesce((p_args ->> 'asked_at')::timestamptz,
                                    (select o.created_at from lanework.operations o where o.id = p_operation));
    v_count int := 0;
begin
    for j in
        select x.* from lanework.approval_requests r
        cross join lateral (select x.* from lanework.jobs x where x.id = r.job_id and x.status = 'awaiting_approval' offset 0) x
        where r.job_id = any (p_ids) and r.since <= v_asked order by r.job_id
    loop
        begin
            perform lanework.give_approval(j.id, lanework.hash_of(j), (p_args ->> 'limit')::numeric, p_by);
            v_count := v_count + 1;
        exception when sqlstate 'LW520' or sqlstate 'LW521' or sqlstate 'LW522' or sqlstate 'LW523' then
            null;
        end;
    end loop;
    return v_count;
end $$;

create function lanework.carry_reject(p_ids bigint[], p_args jsonb, p_by text, p_operation bigint) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_id bigint;
    v_count int := 0;
begin
    for v_id in select u from unnest(p_ids) u where exists (
        select from lanework.jobs x where x.id = u and x.status in ('pending', 'awaiting_approval') offset 0) order by u
    loop
        begin
            perform lanework.turn_down(v_id, p_args ->> 'reason', p_by);
            v_count := v_count + 1;
        exception when sqlstate 'LW521' then
            null;
        end;
    end loop;
    return v_count;
end $$;

-- Everybody's share each sweep: approvals that came too late, estimates that nobody took, pending jobs that nobody estimates.
create function lanework.tend_approvals(p_limit int default 500) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_now timestamptz := lanework.now();
    r record;
    v_from bigint;
    v_pending bigint[];
    v_count int := 0;
begin
    for r in
        select q.job_id, q.since, q.expires_at from lanework.approval_requests q
        where q.expires_at <= v_now order by q.expires_at limit p_limit for update skip locked
    loop
        perform from lanework.jobs j where j.id = r.job_id and j.status = 'awaiting_approval' for no key update skip locked;
        if found then
            perform lanework.put_down(r.job_id, '', format('not approved within %s of asking', r.expires_at - r.since));
            v_count := v_count + 1;
        end if;
        delete from lanework.approval_requests q where q.job_id = r.job_id
            and not exists (select from lanework.jobs j where j.id = q.job_id and j.status = 'awaiting_approval');
    end loop;
    -- of many pending jobs the first ones, and some from a place that differs each time: this stays short
    select min(j.id) + floor(random() * (max(j.id) - min(j.id)))::bigint into v_from from lanework.jobs j where j.status = 'pending';
    v_pending := array(
        (select j.id from lanework.jobs j where j.status = 'pending' order by j.id limit p_limit)
        union
        (select j.id from lanework.jobs j where j.status = 'pending' and j.id >= v_from order by j.id limit p_limit) order by 1);
    v_count := v_count + lanework.estimated(array(
        select e.estimate_id from unnest(v_pending) u
        cross join lateral (select x.estimate_id from lanework.estimating x where x.job_id = u offset 0) e
        where not exists (select from lanework.jobs j where j.id = e.estimate_id offset 0)));
    if exists (select from lanework.estimating) then -- and estimates that nobody needs any more
        v_count := v_count + lanework.estimated(array(
            select x.job_id from (select x.job_id from lanework.estimating x order by x.job_id limit p_limit) x
            where not exists (select from lanework.jobs j where j.id = x.job_id and j.status = 'pending' offset 0)));
    end if;
    for r in
        select j.id from unnest(v_pending) u
        cross join lateral (
            select j.id from lanework.jobs j where j.id = u and j.status = 'pending' offset 0 for no key update skip locked) j
    loop
        continue when exists (select from lanework.estimating x where x.job_id = r.id);
        perform lanework.ask_approval(r.id, 'its cost is not known: nobody estimates it');
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;

-- What was really spent. Not fenced: it has happened. The same key is the same fact.
create function lanework.spend(p_job bigint, p_key text, p_amount numeric, p_currency text, p_tokens bigint, p_items bigint) returns void
language sql volatile as $$
    insert into lanework.spending (job_id, key, amount, currency, tokens, items) values (p_job, p_key, p_amount, p_currency, p_tokens, p_items)
    on conflict (job_id, key) do nothing
$$;

-- Seconds that a job has run, over all its attempts.
create function lanework.run_seconds(p_id bigint) returns double precision
language sql stable as $$
    select extract(epoch from coalesce((
               select d.finished_at - d.claimed_at from lanework.jobs_done d where d.id = p_id and d.status = 'completed'), '0')
           + coalesce((select sum(a.ended_at - a.started_at) from lanework.attempts a where a.job_id = p_id), '0'))::float8
$$;

-- All about the cost and the approval of a job, for those who look at it; null where there is nothing to tell.
create function lanework.about_cost(p_id bigint) returns jsonb
language sql stable as $$
    select case when x.about <> '{}' then x.about || jsonb_build_object('seconds', lanework.run_seconds(p_id)) end
    from (select jsonb_strip_nulls(jsonb_build_object(
        'estimate', (select to_jsonb(e) - 'job_id' - 'hash' from lanework.estimates e where e.job_id = p_id),
        'approval', (select to_jsonb(a) - 'job_id' from lanework.approvals a where a.job_id = p_id),
        'request', (select to_jsonb(r) - 'job_id' from lanework.approval_requests r where r.job_id = p_id),
        'spent', (select jsonb_build_object('amount', sum(s.amount), 'currency', max(s.currency), 'tokens', sum(s.tokens), 'items', sum(s.items))
                  from lanework.spending s
                  where s.job_id in (p_id, (select e.estimate_id from lanework.estimates e where e.job_id = p_id)) having count(*) > 0)
    )) as about) x
$$;

-- Operators' rules: set, remove.
create function lanework.set_approval_rule(
    p_type text, p_owner text, p_policy text, p_above numeric, p_currency text, p_four_eyes boolean, p_by text
) returns void
language plpgsql volatile as $$
declare
    v_before jsonb := (select to_jsonb(r) from lanework.approval_rules r where r.type = p_type and r.owner = p_owner);
begin
    if p_type <> '*' and not exists (select from lanework.job_types t where t.name = p_type) then
        raise exception 'type: no job type is called %', quote_literal(p_type) using errcode = 'LW523';
    elsif p_policy is null or p_policy not in ('always', 'never', 'above') then
        raise exception 'policy: expected always, never or above, got %', coalesce(p_policy, 'null') using errcode = 'LW523';
    elsif (p_policy = 'above') <> (p_above is not null) then
        raise exception 'above: a sum belongs to the policy above, and only to it' using errcode = 'LW523';
    elsif p_above < 0 or p_above >= 1e12 or p_above = 'NaN' then
        raise exception 'above: expected a sum from 0 on, got %', p_above using errcode = 'LW523';
    end if;
    insert into lanework.approval_rules as r (type, owner, policy, above, currency, four_eyes, set_by, updated_at)
    values (p_type, p_owner, p_policy, p_above, p_currency, p_four_eyes, coalesce(nullif(p_by, ''), 'unknown'), lanework.now())
    on conflict (type, owner) do update
    set policy = excluded.policy, above = excluded.above, currency = excluded.currency, four_eyes = excluded.four_eyes,
        set_by = excluded.set_by, updated_at = excluded.updated_at;
    perform lanework.audit(p_by, 'approval_rule.set', format('approval_rule:%s/%s', p_type, p_owner), v_before,
        (select to_jsonb(r) from lanework.approval_rules r where r.type = p_type and r.owner = p_owner));
end $$;

create function lanework.remove_approval_rule(p_type text, p_owner text, p_by text) returns boolean
language plpgsql volatile as $$
declare
    v_before jsonb;
begin
    delete from lanework.approval_rules r where r.type = p_type and r.owner = p_owner returning to_jsonb(r) into v_before;
    if v_before is null then return false; end if;
    perform lanework.audit(p_by, 'approval_rule.remove', format('approval_rule:%s/%s', p_type, p_owner), v_before);
    return true;
end $$;

-- What hangs on a job leaves with it.
create function lanework.prune_approvals(p_limit int default 2000) returns void
language plpgsql volatile as $$
declare
    v_old timestamptz := lanework.now() - least(lanework.keep('completed'), lanework.keep('failed'));
    t text;
begin
    foreach t in array array['estimates', 'approvals', 'edits', 'spending'] loop
        execute format(
            'delete from lanework.%1$I x where x.job_id in (
                 select o.job_id from (select y.job_id, y.at from lanework.%1$I y order by y.job_id limit $1 * 3) o
                 where o.at < $2 and not exists (select from lanework.all_jobs j where j.id = o.job_id) limit $1)', t)
        using p_limit, v_old;
    end loop;
end $$;
