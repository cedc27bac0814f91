-- Fair lanes, and why a job or a lane does not go on.

-- A fair lane gives its owners turns: it orders by (turn, rank, created_at, id). A job's turn is one after the last of its owner's
-- waiting jobs, and not before the lane's own, which is the highest that was claimed: whatever one owner has queued, another's first
-- job is in the turn that is being served. Turns are read without a lock: two submits of one owner at the same moment may get the
-- same one, which does no harm. They count up from far below 0, so that jobs without a turn (0) come after those that have one, and
-- a lane that is plain again starts what had a turn first.
--
-- Priority orders the jobs of one owner, by its sign: a job goes behind all jobs of its owner that are as urgent or more so. An
-- owner has at most three jobs in a turn, whatever priorities he gives.
create table lanework.turns (
    lane_id int primary key,
    turn int not null default -2000000000
) with (fillfactor = 50);

create index jobs_turns on lanework.jobs
    (lane_id, (coalesce(owner, '')), (case when rank < 0 then -1 when rank > 0 then 1 else 0 end), turn)
    where status = 'approved' and turn < 0;

-- What was claimed has turns below the lane's: its dead entries are not walked.
create function lanework.next_turn(p_lane int, p_owner text, p_rank int) returns int
language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_turn int := coalesce((select t.turn from lanework.turns t where t.lane_id = p_lane), -2000000000);
    v_last int;
begin
    select max(x.turn) into v_last
    from generate_series(-1, sign(p_rank)::int) as c(class)
    cross join lateral (
        select j.turn from lanework.jobs j
        where j.status = 'approved' and j.turn < 0 and j.turn >= v_turn and j.lane_id = p_lane
          and coalesce(j.owner, '') = coalesce(p_owner, '') and (case when j.rank < 0 then -1 when j.rank > 0 then 1 else 0 end) = c.class
        order by j.turn desc limit 1) x;
    return least(greatest(v_turn, v_last + 1), -1);
end $$;

-- A job that goes back to the queue keeps its turn, unless its type has left the lane.
create function lanework.turn_again(p_type int, p_lane int, p_turn int) returns int
language sql stable as $$
    select case when exists (select from lanework.job_types t where t.id = p_type and t.fair_lane = p_lane) then p_turn else 0 end
$$;

-- Turns for jobs that have become claimable and have none.
create function lanework.take_turns(p_ids bigint[], p_types int[]) returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    r record;
begin
    if not exists (select from lanework.job_types t where t.id = any (p_types) and t.fair_lane <> 0) then return; end if;
    for r in
        select j.id, j.owner, j.rank, t.fair_lane from lanework.jobs j join lanework.job_types t on t.id = j.type_id
        where j.id = any (p_ids) and j.status = 'approved' and j.turn = 0 and t.fair_lane <> 0
        order by j.rank, j.created_at, j.id
    loop
        update lanework.jobs x set turn = lanework.next_turn(r.fair_lane, r.owner, r.rank), lane_id = r.fair_lane
        where x.id = r.id and x.status::text = 'approved';
    end loop;
end $$;

-- An operator's raise crosses owners: these waiting jobs go into the turn that is being served, where their priority decides.
create function lanework.front_turns(p_ids bigint[]) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    v_count int;
begin
    with held as (
        select j.id, t.turn from lanework.jobs j join lanework.turns t on t.lane_id = j.lane_id
        where j.id = any (p_ids) and j.status = 'approved' and j.turn < 0 order by j.id for no key update of j skip locked)
    update lanework.jobs j set turn = h.turn from held h where j.id = h.id;
    get diagnostics v_count = row_count;
    return v_count;
end $$;

-- Lets waiting jobs follow what operators do: a lane that becomes fair or plain, a type that moves. New jobs follow at once, those that
-- wait already a bounded number at a time; so do jobs that came without a turn (a late commit, a COPY of one's own). Called under
-- a lane's lock too: rows that somebody holds are left for the next call.
create function lanework.align_turns(p_limit int default 1000) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    t record;
    j record;
    v_zeroed int;
    v_changed int := 0;
begin
    if not exists (select from lanework.job_types x where x.fair_lane <> 0 or x.mixed)
       and not exists (select from lanework.lanes l where l.fair) then
        return 0;
    end if;
    insert into lanework.turns (lane_id) select l.id from lanework.lanes l where l.fair order by l.id on conflict do nothing;
    for t in
        select x.id, x.mixed or x.fair_lane <> 0 as leaves, case when l.fair then l.id else 0 end as wanted
        from lanework.job_types x join lanework.lanes l on l.name = x.lane
        where x.mixed or x.fair_lane <> case when l.fair then l.id else 0 end
        order by x.id for no key update of x skip locked
    loop
        v_zeroed := 0;
        if t.leaves then
            with held as (
                select w.id from lanework.jobs w where w.status = 'approved' and w.type_id = t.id and w.turn < 0
                order by w.turn, w.rank, w.created_at, w.id limit p_limit for no key update skip locked)
            update lanework.jobs w set turn = 0 where w.id = any (array(select h.id from held h));
            get diagnostics v_zeroed = row_count;
        end if;
        update lanework.job_types x set mixed = v_zeroed = p_limit, fair_lane = case when v_zeroed = p_limit then 0 else t.wanted end
        where x.id = t.id;
        v_changed := v_changed + v_zeroed;
    end loop;
    for j in
        select w.* from lanework.job_types x
        cross join lateral (
            select w.id, w.owner, w.rank, w.created_at, x.fair_lane as lane from lanework.jobs w
            where w.status = 'approved' and w.type_id = x.id and w.turn = 0
            order by w.turn, w.rank, w.created_at, w.id limit p_limit for no key update skip locked) w
        where x.fair_lane <> 0 order by w.rank, w.created_at, w.id limit p_limit
    loop
        update lanework.jobs w set turn = lanework.next_turn(j.lane, j.owner, j.rank), lane_id = j.lane where w.id = j.id;
        v_changed := v_changed + 1;
    end loop;
    -- two thousand million turns are many; a lane that has gone half way and is empty begins again
    update lanework.turns n set turn = -2000000000
    where n.turn > -1000000000
      and not exists (select from lanework.jobs w where w.status = 'approved' and w.turn < 0 and w.lane_id = n.lane_id);
    return v_changed;
end $$;

-- Why does it not run? ----------------------------------------------------------------------------------------------------

-- One answer: a reason by its code, the same in words, what it waits for and who holds that (`noun:name`, as in the audit log),
-- until when at the latest if that is known, and what would change it.
create type lanework.explanation as (
    reason text, text text, waits_for text[], holders text[], until timestamptz, remedy text
);

create function lanework.because(
    p_reason text, p_text text, p_remedy text default '', p_waits_for text[] default '{}', p_holders text[] default '{}',
    p_until timestamptz default null
) returns lanework.explanation language sql immutable as $$
    select row(p_reason, p_text, p_waits_for, p_holders, p_until, p_remedy)::lanework.explanation
$$;

create function lanework.moment(p_at timestamptz) returns text
language sql stable as $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') $$;

-- `job:1`, `job:2` and so on in words: a few by number, the rest counted.
create function lanework.in_words(p_names text[]) returns text
language sql immutable as $$
    select coalesce(string_agg(replace(x, ':', ' '), ', ' order by n) filter (where n <= 5), 'nobody')
           || case when count(*) > 5 then format(' and %s more', count(*) - 5) else '' end
    from unnest(p_names) with ordinality as u(x, n)
$$;

-- The jobs that run in a lane, or of one type, the oldest first: from the few claims to their jobs, never through all jobs.
create function lanework.holders(p_lane int, p_type int) returns text[]
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    return array(
        select 'job:' || j.id
        from lanework.claims c cross join lateral unnest(c.job_ids) x
        cross join lateral (
            select j.* from lanework.jobs j where j.id = x and j.claim_id = c.claim_id and j.status = 'running' offset 0) j
        where (p_lane is null or j.lane_id = p_lane) and (p_type is null or j.type_id = p_type)
        order by j.claimed_at, j.id limit 100);
end $$;

-- Workers that take jobs of a type (null: any) from a lane, with room or without.
create function lanework.servers(p_lane lanework.lanes, p_type int, p_version int, p_with_room boolean) returns bigint[]
language sql stable as $$
    select array(
        select w.id from lanework.workers w
        where w.state = 'active' and w.seen_at > lanework.now() - w.ttl and (w.lanes = '{}' or p_lane.name = any (w.lanes))
          and case when p_type is null then exists (select from lanework.job_types t where t.lane = p_lane.name and t.id = any (w.types))
              else p_type = any (w.types) and p_version <= coalesce((w.info -> 'versions' ->> p_type::text)::int, p_version) end
          and (not p_with_room
               or coalesce((select u.used from lanework.lane_use u where u.lane_id = p_lane.id and u.worker_id = w.id), 0)
                    < coalesce(p_lane.worker_slots, 10000)
                  and coalesce((select sum(u.used) from lanework.lane_use u where u.worker_id = w.id), 0)
                    < coalesce((w.info ->> 'max_jobs')::int, 10000))
        order by w.id)
$$;

-- An operator's drain of everything, or a freeze of the lane.
create function lanework.hold_of(p_lane text) returns lanework.explanation
language plpgsql stable as $$
declare
    h record;
begin
    select d.by as who, d.reason, d.at into h from lanework.drains d;
    if found then
        return lanework.because('all_drained', format('everything is drained by %s since %s', h.who, lanework.moment(h.at)) || coalesce(' (' || nullif(h.reason, '') || ')', ''),
                                'lanework lanes resume --all', array['drain'], array['operator:' || h.who]);
    end if;
    select f.id, f.by as who, f.reason, f.job_id, f.until into h from lanework.freezes f where f.lane = p_lane and lanework.holds(f) order by f.id limit 1;
    if found then
        return lanework.because(
            'frozen', format('lane %s is frozen by %s', p_lane, coalesce('job ' || h.job_id, h.who)) || coalesce(' (' || nullif(h.reason, '') || ')', ''),
            case when h.job_id is null then format('lanework lanes thaw %s', h.id) else 'it ends with that job' end,
            array['lane:' || p_lane], array[coalesce('job:' || h.job_id, 'operator:' || h.who)], h.until);
    end if;
    return null;
end $$;

-- A permit, a rate or a budget, named as in `blocked_on`; null: it has room.
create function lanework.limit_brake(p_key text, p_job bigint) returns lanework.explanation
language plpgsql stable as $$
declare
    v_name text := substr(p_key, strpos(p_key, ':') + 1);
    v_now timestamptz := lanework.now();
    v_held bigint;
    v_holders text[];
    r record;
begin
    if p_key like 'permit:%' then
        select p.id, p.capacity into r from lanework.permits p where p.name = v_name;
        v_held := (select coalesce(sum(u.used), 0) from lanework.permit_use u where u.permit_id = r.id)
                + (select count(*) from lanework.permit_holds h where h.permit_id = r.id and h.expires_at > v_now);
        if v_held < r.capacity then return null; end if;
        v_holders := array(
            select h.who from (
                select 'job:' || x as who, 1 as kind, x as n from lanework.permit_use u cross join lateral unnest(u.jobs) x where u.permit_id = r.id
                union all
                select coalesce('job:' || h.job_id, 'holder:' || h.holder), 2, extract(epoch from h.granted_at)::bigint
                from lanework.permit_holds h where h.permit_id = r.id and h.expires_at > v_now
                union all
                select 'worker:' || u.worker_id, 3, u.worker_id from lanework.permit_use u where u.permit_id = r.id and u.used > 0 and u.jobs = '{}') h
            order by h.kind, h.n limit 100);
        return lanework.because('permit', format('it needs permit %s, whose %s are held by %s', v_name, r.capacity, lanework.in_words(v_holders)),
                                format('wait, or lanework permits set %s %s', v_name, r.capacity + 1), array[p_key], v_holders,
                                (select min(h.expires_at) from lanework.permit_holds h where h.permit_id = r.id and h.expires_at > v_now));
    elsif p_key like 'rate:%' then
        select b.paused_until, nullif(greatest(b.requests_at, b.tokens_at), '-infinity') as next_at into r from lanework.rates b where b.name = v_name;
        if r.paused_until > v_now then
            return lanework.because('rate', format('rate %s is paused until %s', v_name, lanework.moment(r.paused_until)),
                                    format('wait, or lanework rates resume %s', v_name), array[p_key], '{}', r.paused_until);
        end if;
        return lanework.because('rate', format('rate %s has nothing left for now', v_name), format('wait, or raise it: lanework rates set %s', v_name),
                                array[p_key], '{}', case when r.next_at > v_now then r.next_at end);
    elsif p_key like 'budget:%' then
        select b.per, b.amount, lanework.budget_left(b.name) as rest, w.need into r
        from lanework.budgets b left join lanework.budget_waits w on w.job_id = p_job where b.name = v_name;
        return lanework.because(
            'budget', format('budget %s has %s left of %s per %s', v_name, trim_scale(r.rest), trim_scale(r.amount), r.per) || coalesce(format(', and it needs %s', trim_scale(r.need)), ''),
            format('raise it: lanework budgets set %s', v_name), array[p_key], '{}',
            case when r.per <> 'total' then lanework.period_of(r.per, v_now) + ('1 ' || r.per)::interval end);
    end if;
    return null;
end $$;

-- The first of a type's declared limits that has no room.
create function lanework.declared_brake(p_type lanework.job_types) returns lanework.explanation
language plpgsql stable as $$
declare
    v_key text;
    e lanework.explanation;
begin
    for v_key in
        select 'permit:' || n from jsonb_array_elements_text(coalesce(to_jsonb(p_type.permits), '[]')) n order by 1
    loop
        e := lanework.limit_brake(v_key, null);
        exit when e.reason is not null;
    end loop;
    return e;
end $$;

-- Waiting for an estimate, or for somebody's yes.
create function lanework.approval_brake(j lanework.jobs) returns lanework.explanation
language plpgsql stable as $$
declare
    r record;
begin
    if j.status = 'pending' then
        select e.estimate_id into r from lanework.estimating e where e.job_id = j.id;
        return lanework.because('estimating', 'what it will cost is being estimated' || coalesce(format(' by job %s', r.estimate_id), ''),
                                'explain that job', array['estimate'], array_remove(array['job:' || r.estimate_id], null));
    end if;
    select q.why, q.expires_at into r from lanework.approval_requests q where q.job_id = j.id;
    return lanework.because('approval', format('it waits for an approval: %s', r.why), format('lanework jobs approve %s', j.id), array['approval'], '{}', r.expires_at);
end $$;

-- What keeps a lane as a whole from starting anything; null: nothing does.
create function lanework.brake(p_lane lanework.lanes) returns lanework.explanation
language plpgsql stable as $$
declare
    v_holders text[];
    e lanework.explanation := lanework.hold_of(p_lane.name);
    v_draining bigint;
begin
    if e.reason is not null then
        return e;
    elsif not p_lane.enabled then
        return lanework.because('drained', format('lane %s is drained (set by %s)', p_lane.name, p_lane.set_by),
                                format('lanework lanes resume %s', p_lane.name), array['lane:' || p_lane.name]);
    elsif p_lane.max_slots = 0 or p_lane.worker_slots = 0 then
        return lanework.because('no_slots', format('lane %s has no slots (set by %s)', p_lane.name, p_lane.set_by),
                                format('lanework lanes set %s --%s 1', p_lane.name, case when p_lane.max_slots = 0 then 'max-slots' else 'worker-slots' end),
                                array['lane:' || p_lane.name]);
    elsif not exists (select from lanework.workers w where w.state = 'active' and w.seen_at > lanework.now() - w.ttl) then
        select count(*) into v_draining from lanework.workers w where w.state = 'draining' and w.seen_at > lanework.now() - w.ttl;
        return lanework.because('no_worker', case when v_draining = 0 then 'no worker is alive' else format('no worker takes jobs: %s drain', v_draining) end,
                                'lanework worker module:app', array['worker']);
    elsif not exists (select from lanework.job_types t where t.lane = p_lane.name) then
        return lanework.because('empty', format('lane %s has no job types', p_lane.name),
                                format('@app.job(lane=…), or lanework lanes set %s --types A,B', p_lane.name));
    elsif lanework.servers(p_lane, null, 0, false) = '{}' then
        return lanework.because('unserved', format('no worker serves a job type of lane %s', p_lane.name),
                                format('start a worker for lane %s whose application declares its job types', p_lane.name), array['worker']);
    elsif (select coalesce(sum(u.used), 0) from lanework.lane_use u where u.lane_id = p_lane.id) >= p_lane.max_slots then
        v_holders := lanework.holders(p_lane.id, null);
        return lanework.because('full', format('all %s slots of lane %s are in use: %s', p_lane.max_slots, p_lane.name, lanework.in_words(v_holders)),
                                format('wait, or lanework lanes set %s --max-slots %s', p_lane.name, p_lane.max_slots + 1),
                                array['lane:' || p_lane.name], v_holders);
    elsif lanework.servers(p_lane, null, 0, true) = '{}' then
        v_holders := lanework.holders(p_lane.id, null);
        return lanework.because('workers_full', format('every worker of lane %s runs as many jobs as it may: %s', p_lane.name, lanework.in_words(v_holders)),
                                'wait, start another worker, or raise worker_slots or LANEWORK_MAX_JOBS', array['worker'], v_holders);
    end if;
    return null;
end $$;

create function lanework.type_brake(p_type lanework.job_types) returns lanework.explanation
language plpgsql stable as $$
declare
    v_holders text[];
begin
    if p_type.concurrency = 0 then
        return lanework.because('type_full', format('type %s may not run: its concurrency is 0', p_type.name), 'raise its concurrency', array['type:' || p_type.name]);
    elsif (select coalesce(sum(u.used), 0) from lanework.type_use u where u.type_id = p_type.id) >= p_type.concurrency then
        v_holders := lanework.holders(null, p_type.id);
        return lanework.because('type_full', format('%s of type %s may run at once, and do: %s', p_type.concurrency, p_type.name, lanework.in_words(v_holders)),
                                'wait, or raise its concurrency', array['type:' || p_type.name], v_holders);
    end if;
    return null;
end $$;

-- How many jobs of the lane start before this one; counted up to p_most.
create function lanework.jobs_before(j lanework.jobs, p_lane text, p_most int default 1000) returns int
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
begin
    return (
        select count(*) from (
            select from lanework.job_types t
            cross join lateral (
                select from lanework.jobs x
                where x.status = 'approved' and x.type_id = t.id and (x.turn, x.rank, x.created_at, x.id) < (j.turn, j.rank, j.created_at, j.id)
                order by x.turn, x.rank, x.created_at, x.id limit p_most) x
            where t.lane = p_lane limit p_most) b);
end $$;

create function lanework.explain_waiting(j lanework.jobs) returns lanework.explanation
language plpgsql stable as $$
declare
    t lanework.job_types%rowtype;
    l lanework.lanes%rowtype;
    a lanework.attempts%rowtype;
    e lanework.explanation;
    v_names text[];
    v_before int;
    v_now timestamptz := lanework.now();
begin
    select * into t from lanework.job_types x where x.id = j.type_id;
    select * into l from lanework.lanes x where x.name = t.lane;
    if j.status = 'scheduled' then
        select * into a from lanework.attempts x where x.job_id = j.id and x.attempt = j.attempt;
        return lanework.because(
            case when a.outcome = 'retry' then 'retry' when a.outcome = 'snooze' then 'snoozed' else 'delayed' end,
            case when a.outcome = 'retry' then format('attempt %s failed (%s: %s); it is tried again at %s', j.attempt, a.error_class, left(a.error, 200), lanework.moment(j.run_at))
                 when a.outcome = 'snooze' then format('its handler has put it off until %s', lanework.moment(j.run_at))
                 else format('it is to start at %s', lanework.moment(j.run_at)) end
            || case when j.run_at <= v_now then '; that has come: the next poll makes it claimable' else '' end,
            'wait until then', array['time'], '{}', j.run_at);
    elsif j.blocked_on = 'session' then
        v_names := array(
            select 'job:' || x.id from lanework.jobs x
            where x.session = j.session and x.id <> j.id
              and (x.status in ('approved', 'running', 'scheduled') or x.blocked_on = 'children' or x.status = 'blocked' and x.blocked_on = 'session' and x.id < j.id)
            order by x.status <> 'running', x.id limit 100);
        return lanework.because('session', case when v_names = '{}' then format('session %s is free: the next sweep lets it go', j.session)
                                    else format('session %s runs one job at a time, and has an earlier one: %s', j.session, lanework.in_words(v_names)) end,
                                'it starts when the earlier jobs of its session have ended', array['session:' || j.session], v_names);
    elsif j.blocked_on = 'children' then
        v_names := array(select 'job:' || x.id from lanework.jobs x where x.parent = j.id order by x.status <> 'running', x.id limit 100);
        return lanework.because('children', case when v_names = '{}' then 'its children have ended: the next sweep lets it go'
                                    else format('it waits for its children: %s', lanework.in_words(v_names)) end,
                                'it goes on when they have ended; explain one of them', v_names, v_names);
    elsif j.status in ('pending', 'awaiting_approval') then
        return lanework.approval_brake(j);
    elsif j.status = 'blocked' then
        e := lanework.limit_brake(j.blocked_on, j.id);
        if e.reason is not null then return e; end if;
        return lanework.because('parked', format('it waited for %s, which has room now', replace(j.blocked_on, ':', ' ')), 'the next claim or sweep lets it go',
                                array[j.blocked_on]);
    end if;
    e := lanework.hold_of(l.name);
    if e.reason is not null then return e; end if;
    if l.enabled and l.max_slots is distinct from 0 and l.worker_slots is distinct from 0 and lanework.servers(l, j.type_id, j.version, false) = '{}'
       and exists (select from lanework.workers w where w.state = 'active' and w.seen_at > v_now - w.ttl) then
        if lanework.servers(l, j.type_id, 0, false) <> '{}' then
            return lanework.because('version', format('no worker knows version %s of the arguments of %s', j.version, t.name),
                                    'start a worker with the newer code', array['worker']);
        end if;
        return lanework.because('unserved', format('no worker serves type %s in lane %s', t.name, t.lane),
                                format('start a worker for lane %s whose application declares %s', t.lane, t.name), array['worker']);
    end if;
    e := lanework.brake(l);
    if e.reason is not null then return e; end if;
    e := lanework.type_brake(t);
    if e.reason is not null then return e; end if;
    e := lanework.declared_brake(t);
    if e.reason is not null then return e; end if;
    v_before := lanework.jobs_before(j, t.lane);
    if v_before > 0 then
        return lanework.because('behind', format('%s before it in lane %s%s', case when v_before = 1 then '1 job starts' when v_before >= 1000 then '1000 jobs or more start' else v_before || ' jobs start' end,
                                                 t.lane, case when l.fair then ', whose owners take turns' else '' end),
                                format('wait, raise its priority, or give lane %s more slots', t.lane), array['lane:' || t.lane]);
    end if;
    return lanework.because('next', format('nothing holds it: it is the next in lane %s%s', t.lane, case when j.suspect then ', and will run alone in a process' else '' end),
                            format('it starts within one poll (%s ms)', l.poll_interval_ms), array['worker']);
end $$;

-- The one reason why a job is not running now, and what would change it.
create function lanework.explain(p_job bigint)
returns table (
    job_id bigint, status lanework.job_status, reason text, text text, waits_for text[], holders text[], until timestamptz, remedy text
)
language plpgsql stable as $$
#variable_conflict use_column
declare
    j lanework.jobs%rowtype;
    d record;
    e lanework.explanation;
begin
    select * into j from lanework.jobs x where x.id = p_job;
    if not found then
        -- finished, unless it has moved while we looked
        select x.status, x.finished_at, x.error_class, x.error, x.partial into d from lanework.all_jobs x where x.id = p_job;
        if not found then
            raise exception 'there is no job %', p_job using errcode = 'LW310';
        end if;
        j.status := d.status;
        e := case d.status
            when 'failed' then lanework.because('failed', format('it has failed (%s: %s)', d.error_class, left(d.error, 200)), 'see its attempts; then retry it')
            else lanework.because(d.status::text, format('it has %s at %s', case when d.status = 'completed' then 'completed' else 'been cancelled' end, lanework.moment(d.finished_at))) end;
    elsif j.status = 'running' then
        select w.name into d from lanework.workers w where w.id = j.worker_id;
        e := lanework.because(
            'running', format('it runs, attempt %s, on worker %s (%s) since %s', j.attempt, j.worker_id, coalesce(d.name, 'unknown'), lanework.moment(j.claimed_at))
                       || coalesce((select format('; asked to stop (%s)', s.kind) from lanework.stops s where s.job_id = j.id), ''),
            '', '{}', array['worker:' || j.worker_id]);
    else
        e := lanework.explain_waiting(j);
    end if;
    return query select p_job, j.status, e.reason, e.text, e.waits_for, e.holders, e.until, e.remedy;
end $$;

-- A lane's brake: the one reason why it does not start more than it does.
create function lanework.explain_lane(p_lane text)
returns table (lane text, reason text, text text, waits_for text[], holders text[], until timestamptz, remedy text)
language plpgsql stable as $$
#variable_conflict use_column
declare
    l lanework.lanes%rowtype;
    t lanework.job_types%rowtype;
    e lanework.explanation;
    v_waiting int[];
    v_blocked text;
begin
    select * into l from lanework.lanes x where x.name = p_lane;
    if not found then
        raise exception 'there is no lane %', quote_literal(p_lane) using errcode = 'LW321';
    end if;
    e := lanework.brake(l);
    if e.reason is null then
        v_waiting := array(
            select x.id from lanework.job_types x
            where x.lane = p_lane and exists (select from lanework.jobs j where j.status = 'approved' and j.type_id = x.id offset 0) order by x.id);
        for t in select x.* from lanework.job_types x where x.id = any (v_waiting) order by x.name loop
            e := lanework.type_brake(t);
            if e.reason is null then
                e := lanework.declared_brake(t);
            end if;
            if e.reason is null and lanework.servers(l, t.id, 0, false) = '{}' then
                e := lanework.because('unserved', format('no worker serves type %s, which has jobs waiting', t.name),
                                      format('start a worker whose application declares %s', t.name), array['worker']);
            end if;
            exit when e.reason is null; -- a type that could start: the lane goes on
        end loop;
        if v_waiting = '{}' then
            select x.key into v_blocked from lanework.blocked_keys(p_lane) x limit 1;
            if v_blocked ~ '^(permit|rate|budget):' then
                e := lanework.limit_brake(v_blocked, null);
            end if;
            e := case when e.reason is not null then e when v_blocked is null then lanework.because('empty', format('nothing waits in lane %s', p_lane), 'submit a job')
                 else lanework.because('blocked', format('every waiting job of lane %s waits for something else, most of those looked at for %s', p_lane, v_blocked),
                                       'explain one of them', array[v_blocked]) end;
        elsif e.reason is null then
            e := lanework.because('open', format('nothing holds lane %s: it starts jobs as slots become free', p_lane));
        end if;
    end if;
    return query select p_lane, e.reason, e.text, e.waits_for, e.holders, e.until, e.remedy;
end $$;

-- Jobs that may not be claimed yet, and what each waits for: up to p_most of each kind, by the index or table that has just these.
create function lanework.held_jobs(p_most int) returns table (type_id int, key text)
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
#variable_conflict use_column
begin
    return query
        (select j.type_id, 'session'::text from lanework.jobs j
         where j.status = 'blocked' and j.blocked_on = 'session' order by j.session, j.id limit p_most)
        union all
        (select j.type_id, 'children' from lanework.waits w
         cross join lateral (
             select j.type_id from lanework.jobs j where j.id = w.job_id and j.status = 'blocked' and j.blocked_on = 'children' offset 0) j
         limit p_most)
        union all
        (select j.type_id, 'approval' from lanework.approval_requests r
         cross join lateral (select j.type_id from lanework.jobs j where j.id = r.job_id and j.status = 'awaiting_approval' offset 0) j limit p_most)
        union all
        (select j.type_id, 'estimate' from lanework.estimating e
         cross join lateral (select j.type_id from lanework.jobs j where j.id = e.job_id and j.status = 'pending' offset 0) j limit p_most)
        union all
        (select j.type_id, j.blocked_on from lanework.jobs j
         where j.status = 'blocked' and j.blocked_on <> 'session' and j.blocked_on <> 'children'
         order by j.blocked_on, j.turn, j.rank, j.created_at, j.id limit p_most);
end $$;

-- What the waiting jobs of a lane that may not be claimed wait for, the most frequent first; 1000 of each kind are looked at.
create function lanework.blocked_keys(p_lane text) returns table (key text, jobs int)
language sql stable as $$
    select x.key, count(*)::int
    from (
        select h.type_id, h.key from lanework.held_jobs(1000) h
        union all
        (select j.type_id, 'time' from lanework.jobs j where j.status = 'scheduled' order by j.run_at, j.id limit 1000)) x
    join lanework.job_types t on t.id = x.type_id
    where t.lane = p_lane group by 1 order by 2 desc, 1
$$;

-- What each lane has in it, for a screen: counted up to p_most of each kind, so that a million queued jobs cost no more than
-- ten thousand. `oldest` is the oldest of the claimable ones that were counted.
create function lanework.queues(p_most int default 10000)
returns table (lane text, waiting int, delayed int, blocked int, running int, oldest timestamptz)
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with later as materialized (
        select j.type_id from lanework.jobs j where j.status = 'scheduled' order by j.run_at, j.id limit p_most
    ), held as materialized (
        select h.type_id from lanework.held_jobs(p_most) h
    ), busy as materialized (
        select j.lane_id from lanework.claims c cross join lateral unnest(c.job_ids) x
        cross join lateral (select j.lane_id from lanework.jobs j where j.id = x and j.claim_id = c.claim_id and j.status = 'running' offset 0) j
        limit p_most
    )
    select l.name, w.n,
           (select count(*)::int from later x join lanework.job_types t on t.id = x.type_id where t.lane = l.name),
           (select count(*)::int from held x join lanework.job_types t on t.id = x.type_id where t.lane = l.name),
           (select count(*)::int from busy x where x.lane_id = l.id), w.oldest
    from lanework.lanes l
    cross join lateral (
        select count(*)::int as n, min(x.created_at) as oldest from (
            select j.created_at from lanework.job_types t
            cross join lateral (
                select j.created_at from lanework.jobs j where j.status = 'approved' and j.type_id = t.id
                order by j.turn, j.rank, j.created_at, j.id limit p_most) j
            where t.lane = l.name limit p_most) x) w;
end $$;

-- Notifiers whose messages do not arrive: given up within a day, or tried three times and more.
create function lanework.failing_notifiers() returns table (name text, failed int, pending int, last_error text)
language plpgsql stable as $$
#variable_conflict use_column
begin
    return query
    select n.name, count(*) filter (where x.state = 'failed')::int, count(*) filter (where x.state = 'pending')::int,
           (array_agg(x.last_error order by x.created_at desc))[1]
    from lanework.notifications x join lanework.notifiers n on n.id = x.notifier_id
    where n.enabled and (x.state = 'pending' and x.tries >= 3 or x.state = 'failed' and x.ended_at > lanework.now() - interval '1 day')
    group by n.name order by n.name;
end $$;
