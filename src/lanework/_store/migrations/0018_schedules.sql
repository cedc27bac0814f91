-- Schedules and maintenance tasks.
--
-- When a schedule is due is computed outside (cron and time zones are no business of SQL); whether a tick makes a job is decided
-- here, under the schedule's row lock, and written down in the transaction that makes the job. (schedule, tick) is a key: any
-- number of leaders, clocks and repetitions make at most one job of it.

create table lanework.schedules (
    name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}$'),
    type text not null check (length(type) between 1 and 200),
    payload jsonb not null default '{}' check (jsonb_typeof(payload) = 'object' and pg_column_size(payload) <= 524288),
    version smallint not null default 1 check (version >= 1),
    cron text,
    every_s double precision check (every_s between 1 and 31622400),
    tz text not null default 'UTC',
    jitter_s double precision not null default 0 check (jitter_s between 0 and 86400),
    overlap text not null default 'skip' check (overlap in ('skip', 'queue', 'cancel')),
    misfire text not null default 'one' check (misfire in ('skip', 'one', 'all')),
    misfire_after_s double precision not null default 60 check (misfire_after_s between 1 and 86400),
    condition text check (length(condition) between 1 and 180),
    priority smallint check (priority between -1000 and 1000),
    owner text check (length(owner) <= 200),
    session text check (length(session) between 1 and 200),
    tags text[] check (cardinality(tags) <= 20),
    enabled boolean not null default true,
    disabled_because text,
    disabled_at timestamptz,
    set_by text not null default 'code' check (set_by in ('code', 'operator')),
    changed_by text not null default '',
    code jsonb, -- what code says; an operator's row keeps it beside its own values
    removed boolean not null default false, -- an operator's removal stands in the way of the code's next start
    revision bigint not null default 1,
    anchor timestamptz not null default lanework.now(),
    last_tick timestamptz not null default lanework.now(),
    next_at timestamptz, -- null: nobody has computed it yet
    errors int not null default 0,
    last_error text,
    not_before timestamptz,
    created_at timestamptz not null default lanework.now(),
    updated_at timestamptz not null default lanework.now(),
    check ((cron is null) <> (every_s is null))
) with (fillfactor = 70);
create index schedules_due on lanework.schedules (next_at) where enabled and not removed;

-- One row per tick, whether it made a job or not. A `missed` or `skipped` row with `until` stands for all ticks from its own up to
-- that moment.
create table lanework.ticks (
    schedule text not null,
    tick timestamptz not null,
    outcome text not null check (outcome in ('submitted', 'asking', 'skipped', 'missed', 'error')),
    reason text not null default '',
    job_id bigint,
    condition_id bigint,
    until timestamptz,
    count int,
    asked_by text, -- who said "run now"; null: its time had come
    at timestamptz not null default lanework.now(),
    ended text,
    ended_at timestamptz,
    primary key (schedule, tick)
);
create index ticks_open on lanework.ticks (schedule, tick) where ended is null and outcome in ('submitted', 'asking');
create index ticks_at on lanework.ticks (at);

insert into lanework.lifetimes values
    ('ticks', '30 days', 'the history of schedules'),
    ('maintenance_runs', '30 days', 'results of maintenance tasks');

-- Tells the guards that a schedule has changed. A hint like those for lanes: lost, it costs one sweep.
create function lanework.hint_schedules() returns void
language plpgsql volatile as $$ begin perform lanework.hint('~'); end $$;

-- The same for everybody: two leaders give a tick the same moment.
create function lanework.jitter(p_name text, p_tick timestamptz, p_jitter_s double precision) returns interval
language sql stable as $$
    select make_interval(secs => p_jitter_s * ('x' || substr(md5(p_name || '@' || extract(epoch from p_tick)), 1, 8))::bit(32)::bigint / 4294967296.0)
$$;

-- An error of a schedule: it waits before it tries again, and the fifth in a row disables it, loudly. The caller has its row.
create function lanework.schedule_erred(p_name text, p_error text) returns void
language plpgsql volatile as $$
declare
    s lanework.schedules%rowtype;
    v_now timestamptz := lanework.now();
begin
    update lanework.schedules x
    set errors = x.errors + 1, last_error = p_error,
        not_before = v_now + least(interval '1 hour', interval '10 s' * power(2, least(x.errors, 20)))
    where x.name = p_name returning * into s;
    perform lanework.tell('schedule', 'schedule.error', null, jsonb_build_object('schedule', p_name, 'error', p_error, 'in_a_row', s.errors));
    if s.errors >= 5 and s.enabled then
        update lanework.schedules x
        set enabled = false, disabled_at = v_now, revision = x.revision + 1,
            disabled_because = format('%s errors in a row, the last: %s', s.errors, p_error)
        where x.name = p_name;
        perform lanework.audit('lanework', 'schedule.disable', 'schedule:' || p_name, null,
                               jsonb_build_object('errors', s.errors, 'last_error', p_error));
    end if;
end $$;

create function lanework.schedule_went_well(p_name text) returns void
language sql volatile as $$
    update lanework.schedules set errors = 0, last_error = null, not_before = null where name = p_name and errors > 0
$$;

-- Writes down how the jobs of a schedule have ended, in the order of their ticks. The caller has the schedule's row. Bounded: of a
-- queue that nobody works off, the oldest are looked at.
create function lanework.settle_ticks(p_name text) returns void
language plpgsql volatile as $$
declare
    t record;
begin
    for t in
        select k.tick, k.outcome, a.status::text as status, a.error_class, a.error, a.finished_at
        from (
            select o.* from lanework.ticks o
            where o.schedule = p_name and o.ended is null and o.outcome in ('submitted', 'asking') order by o.tick limit 1000) k
        left join lateral (
            select j.status, j.error_class, j.error, j.finished_at from lanework.all_jobs j
            where j.id = coalesce(k.job_id, k.condition_id) offset 0) a on true
        where a.status is null or a.status in ('completed', 'failed', 'cancelled')
        order by k.tick
    loop
        update lanework.ticks k
        set ended = coalesce(t.status, 'gone'), ended_at = coalesce(t.finished_at, lanework.now()),
            outcome = case when k.outcome = 'submitted' then k.outcome when t.status = 'failed' then 'error' else 'skipped' end,
            reason = case when k.outcome = 'submitted' and t.status = 'failed' then format('%s: %s', t.error_class, left(t.error, 500))
                          when k.outcome = 'submitted' then k.reason
                          when t.status = 'failed' then format('its condition failed: %s: %s', t.error_class, left(t.error, 500))
                          else 'its condition gave no answer' end
        where k.schedule = p_name and k.tick = t.tick;
        if t.status = 'failed' then
            perform lanework.schedule_erred(
                p_name, format(case when t.outcome = 'asking' then 'its condition failed: %s: %s' else 'its job failed: %s: %s' end,
                               t.error_class, left(t.error, 500)));
        elsif t.status = 'completed' then
            perform lanework.schedule_went_well(p_name);
        end if;
    end loop;
end $$;

-- For everybody's sweep: schedules with jobs that have ended. Answers those that were disabled by it.
create function lanework.settle_schedules(p_limit int default 100) returns table (name text, because text)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_name text;
    v_enabled boolean;
begin
    for v_name, v_enabled in
        select s.name, s.enabled from lanework.schedules s
        where s.name in (
            select k.schedule from (
                select o.* from lanework.ticks o where o.ended is null and o.outcome in ('submitted', 'asking') limit 5000) k
            where not exists (select from lanework.jobs j where j.id = coalesce(k.job_id, k.condition_id) offset 0))
        order by s.name limit p_limit for no key update skip locked
    loop
        perform lanework.settle_ticks(v_name);
        return query select s.name, s.disabled_because from lanework.schedules s where s.name = v_name and v_enabled and not s.enabled;
    end loop;
end $$;

-- Stores the job of a tick. What the database refuses (no such type, a payload too large) is an error of the schedule.
create function lanework.submit_tick(p_name text, p_tick timestamptz, p_type text, p_payload jsonb, p_asking boolean) returns void
language plpgsql volatile as $$
declare
    s lanework.schedules%rowtype;
    v_now timestamptz := lanework.now();
    v_job bigint;
begin
    select * into s from lanework.schedules where name = p_name;
    v_job := lanework.enqueue(
        type => p_type, payload => p_payload, priority => s.priority, owner => s.owner, tags => s.tags,
        version => case when p_asking then 1 else s.version end,
        run_at => case when not p_asking and s.jitter_s > 0 then p_tick + lanework.jitter(p_name, p_tick, s.jitter_s) end,
        -- one at a time: what a schedule queues, or starts in place of what it cancels, begins when the one before has ended
        session => case when p_asking then null when s.overlap = 'skip' then s.session else coalesce(s.session, 'schedule:' || p_name) end);
    update lanework.ticks k
    set outcome = case when p_asking then 'asking' else 'submitted' end, reason = '', ended = null,
        job_id = case when not p_asking then v_job end, condition_id = case when p_asking then v_job else k.condition_id end
    where k.schedule = p_name and k.tick = p_tick;
exception when others then
    if sqlstate not like 'LW%' and sqlstate not like '22%' and sqlstate not like '23%' then raise; end if;
    update lanework.ticks k set outcome = 'error', reason = left(sqlerrm, 500), ended = 'failed', ended_at = v_now
    where k.schedule = p_name and k.tick = p_tick;
    perform lanework.schedule_erred(p_name, left(sqlerrm, 500));
end $$;

-- Jobs of a schedule, other than this tick's, that have not ended.
create function lanework.open_ticks(p_name text, p_tick timestamptz) returns bigint[]
language sql volatile as $$
    select coalesce(array_agg(coalesce(k.job_id, k.condition_id) order by k.tick), '{}')
    from lanework.ticks k
    where k.schedule = p_name and k.tick <> p_tick and k.ended is null and k.outcome in ('submitted', 'asking')
$$;

-- One tick: writes it down and decides what becomes of it. Answers false if it has been decided before. The caller has the
-- schedule's row: two ticks of one schedule are never decided at once.
create function lanework.fire_tick(p_name text, p_tick timestamptz, p_asked_by text, p_force boolean) returns boolean
language plpgsql volatile as $$
declare
    s lanework.schedules%rowtype;
    v_now timestamptz := lanework.now();
    v_open bigint[];
    v_reason text;
begin
    select * into s from lanework.schedules where name = p_name;
    insert into lanework.ticks (schedule, tick, outcome, asked_by, at, ended) values (p_name, p_tick, 'skipped', p_asked_by, v_now, 'skipped')
    on conflict do nothing;
    if not found then return false; end if;
    v_open := case when s.overlap = 'queue' then '{}' else lanework.open_ticks(p_name, p_tick) end;
    if p_asked_by is null and not s.enabled then
        v_reason := 'disabled';
    elsif p_asked_by is null and v_now < s.not_before then
        v_reason := format('waits until %s after an error', to_char(s.not_before at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
    elsif s.overlap = 'skip' and v_open <> '{}' and not p_force then
        v_reason := format('overlap: job %s has not ended', v_open[1]);
    end if;
    if v_reason is not null then
        update lanework.ticks k set reason = v_reason where k.schedule = p_name and k.tick = p_tick;
        return true;
    end if;
    if s.overlap = 'cancel' then
        perform lanework.stop_job(x, 'schedule:' || p_name, 'overlap: the next tick has come', true) from unnest(v_open) x;
    end if;
    if s.condition is null or p_force then
        perform lanework.submit_tick(p_name, p_tick, s.type, s.payload, false);
    else
        perform lanework.submit_tick(p_name, p_tick, s.condition || ':condition', jsonb_build_object('schedule', p_name, 'tick', p_tick), true);
    end if;
    return true;
end $$;

-- The answer of a condition, in the fenced transaction that ends its job. p_arguments are laid over the schedule's payload.
create function lanework.answer_condition(p_name text, p_tick timestamptz, p_job bigint, p_yes boolean, p_arguments jsonb) returns text
language plpgsql volatile as $$
declare
    s lanework.schedules%rowtype;
    t lanework.ticks%rowtype;
    v_reason text;
begin
    select * into s from lanework.schedules where name = p_name for no key update;
    select * into t from lanework.ticks k where k.schedule = p_name and k.tick = p_tick and k.condition_id = p_job and k.outcome = 'asking';
    if t.schedule is null then return 'superseded'; end if;
    v_reason := case
        when not p_yes then 'condition said no'
        when s.removed then 'removed while its condition was asked'
        when not s.enabled and t.asked_by is null then 'disabled while its condition was asked'
        when s.overlap = 'skip' and lanework.open_ticks(p_name, p_tick) <> '{}' then 'overlap: another job began while its condition was asked' end;
    perform lanework.schedule_went_well(p_name);
    if v_reason is null then
        perform lanework.submit_tick(p_name, p_tick, s.type, s.payload || coalesce(p_arguments, '{}'), false);
    else
        update lanework.ticks k set outcome = 'skipped', reason = v_reason, ended = 'skipped', ended_at = lanework.now()
        where k.schedule = p_name and k.tick = p_tick;
    end if;
    return (select k.outcome from lanework.ticks k where k.schedule = p_name and k.tick = p_tick);
end $$;

-- What a guard asks: the schedules whose time has come, and (in each row, and in one by itself if there are none) in how many
-- seconds it should ask again, and whether jobs of schedules have ended that nobody has written down. Others than the leader wait two seconds longer: usually there is nothing left for them.
create function lanework.due_schedules(p_worker bigint)
returns table (
    wait_s double precision, unsettled boolean, name text, cron text, every_s double precision, tz text, anchor timestamptz, last_tick timestamptz,
    revision bigint, now timestamptz
)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
    v_late interval := case when exists (select from lanework.leader l where l.worker_id = p_worker and l.until > v_now)
                            then interval '0' else interval '2 s' end;
begin
    return query
    with due as (
        select s.* from lanework.schedules s
        where s.enabled and not s.removed and (s.next_at <= v_now - v_late or s.next_at is null)
        order by s.next_at nulls first limit 200)
    select extract(epoch from (select min(s.next_at) from lanework.schedules s where s.enabled and not s.removed and s.next_at > v_now - v_late)
                              + v_late - v_now)::float8,
           exists (
               select from (
                   select o.* from lanework.ticks o where o.ended is null and o.outcome in ('submitted', 'asking') limit 5000) k
               where not exists (select from lanework.jobs j where j.id = coalesce(k.job_id, k.condition_id) offset 0)),
           d.name, d.cron, d.every_s, d.tz, d.anchor, d.last_tick, d.revision, v_now
    from (select) one left join due d on true;
end $$;

-- Decides ticks of one schedule, and when it is next due. p_ticks: the newest ones up to now, at most 100; p_first_missed and
-- p_missed tell of those between the last decided one and these. A leader that has seen other times of the schedule (p_revision)
-- decides nothing.
create function lanework.fire(
    p_name text, p_revision bigint, p_ticks timestamptz[], p_first_missed timestamptz, p_missed int, p_next timestamptz
) returns table (tick timestamptz, outcome text, reason text, job_id bigint)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    s lanework.schedules%rowtype;
    v_now timestamptz;
    v_ticks timestamptz[];
    v_late int;
    v_tick timestamptz;
    v_number int := 0;
begin
    select * into s from lanework.schedules x where x.name = p_name for no key update;
    if not found or s.revision <> p_revision or not s.enabled or s.removed then return; end if;
    perform lanework.settle_ticks(p_name);
    v_now := lanework.now();
    -- a row that stands for many ticks keeps them out, too
    select array_agg(x order by x), count(*) filter (where x < v_now - make_interval(secs => s.misfire_after_s))
    into v_ticks, v_late from unnest(p_ticks) x where x > s.last_tick and x <= v_now;
    if p_first_missed > s.last_tick and v_ticks is not null then
        insert into lanework.ticks (schedule, tick, outcome, reason, until, count, at, ended)
        values (p_name, p_first_missed, 'missed', 'too many: only the newest 100 are looked at', v_ticks[1], p_missed, v_now, 'missed')
        on conflict do nothing;
        v_late := v_late + 1;
    end if;
    foreach v_tick in array coalesce(v_ticks, '{}') loop
        v_number := v_number + 1;
        if (case s.misfire
            when 'skip' then v_tick < v_now - make_interval(secs => s.misfire_after_s)
            when 'one' then v_late > 0 and v_number < cardinality(v_ticks)
            else false end)
        then
            insert into lanework.ticks (schedule, tick, outcome, reason, at, ended)
            values (p_name, v_tick, 'missed', format('misfire policy %s', s.misfire), v_now, 'missed') on conflict do nothing;
        else
            perform lanework.fire_tick(p_name, v_tick, null, false);
        end if;
    end loop;
    -- a schedule that was just disabled has a new revision, and no next time
    update lanework.schedules x set last_tick = greatest(x.last_tick, v_ticks[cardinality(v_ticks)]), next_at = coalesce(p_next, '9999-01-01Z') where x.name = p_name;
    return query select k.tick, k.outcome, k.reason, coalesce(k.job_id, k.condition_id) from lanework.ticks k
        where k.schedule = p_name and k.tick = any (v_ticks) order by k.tick;
end $$;

-- Times that cannot be computed (a cron that nobody checked) must not keep others waiting.
create function lanework.schedule_broken(p_name text, p_revision bigint, p_error text) returns void
language plpgsql volatile as $$
begin
    perform from lanework.schedules s where s.name = p_name and s.revision = p_revision and s.enabled for no key update;
    if found then
        perform lanework.schedule_erred(p_name, p_error);
        update lanework.schedules s set next_at = s.not_before where s.name = p_name;
    end if;
end $$;

-- Lays values over a schedule's row. Other times count from now on.
create function lanework.apply_schedule(p_name text, p_values jsonb) returns void
language plpgsql volatile as $$
declare
    s lanework.schedules%rowtype;
    v lanework.schedules%rowtype;
    v_now timestamptz := lanework.now();
begin
    select * into s from lanework.schedules where name = p_name;
    v := jsonb_populate_record(s, p_values);
    if p_values ->> 'cron' is not null and p_values ->> 'every_s' is null then v.every_s := null; end if;
    if p_values ->> 'every_s' is not null and p_values ->> 'cron' is null then v.cron := null; end if;
    update lanework.schedules x
    set type = v.type, payload = v.payload, version = v.version, cron = v.cron, every_s = v.every_s, tz = v.tz, jitter_s = v.jitter_s,
        overlap = v.overlap, misfire = v.misfire, misfire_after_s = v.misfire_after_s, condition = v.condition, priority = v.priority,
        owner = v.owner, session = v.session, tags = v.tags, enabled = v.enabled,
        revision = x.revision + 1, updated_at = v_now, not_before = null,
        -- what errors have disabled shows until it is resumed
        errors = case when v.enabled then 0 else x.errors end, last_error = case when v.enabled then null else x.last_error end,
        disabled_because = case when not v.enabled then x.disabled_because end, disabled_at = case when not v.enabled then x.disabled_at end
    where x.name = p_name;
    if (s.cron, s.every_s, s.tz) is distinct from (v.cron, v.every_s, v.tz) or v.enabled and not s.enabled then
        update lanework.schedules x set anchor = v_now, last_tick = v_now, next_at = null where x.name = p_name;
    end if;
    perform lanework.hint_schedules();
end $$;

-- A schedule as operators and their logs see it.
create function lanework.show_schedule(p_name text) returns jsonb
language sql stable as $$
    select to_jsonb(s) - '{name,code,anchor,last_tick,next_at,not_before,created_at,updated_at,revision,removed}'::text[]
    from lanework.schedules s where s.name = p_name and not s.removed
$$;

-- Locks a schedule for an operator's act; answers how it was.
create function lanework.hold_schedule(p_name text) returns jsonb
language plpgsql volatile as $$
begin
    perform from lanework.schedules s where s.name = p_name and not s.removed for no key update;
    if not found then
        raise exception 'there is no schedule %', quote_literal(p_name) using errcode = 'LW531';
    end if;
    return lanework.show_schedule(p_name);
end $$;

-- Creates (p_create) or changes a schedule. Answers how it was and is.
create function lanework.set_schedule(p_name text, p_values jsonb, p_by text, p_create boolean) returns table (before jsonb, after jsonb)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_before jsonb;
begin
    if p_create then
        delete from lanework.schedules s where s.name = p_name and s.removed;
        insert into lanework.schedules (name, type, cron, every_s, set_by)
        values (p_name, p_values ->> 'type', p_values ->> 'cron', (p_values ->> 'every_s')::float8, 'operator')
        on conflict do nothing;
        if not found then
            raise exception 'name: there is a schedule % already; change it instead', quote_literal(p_name) using errcode = 'LW532';
        end if;
    else
        v_before := lanework.hold_schedule(p_name);
    end if;
    perform lanework.apply_schedule(p_name, p_values);
    update lanework.schedules s set set_by = 'operator', changed_by = p_by where s.name = p_name;
    perform lanework.audit(p_by, case when p_create then 'schedule.create' else 'schedule.set' end, 'schedule:' || p_name, v_before,
                           lanework.show_schedule(p_name));
    return query select v_before, lanework.show_schedule(p_name);
end $$;

create function lanework.pause_schedule(p_name text, p_by text, p_reason text) returns void
language plpgsql volatile as $$
declare
    v_before jsonb := lanework.hold_schedule(p_name);
begin
    update lanework.schedules s
    set enabled = false, disabled_because = coalesce(nullif(p_reason, ''), 'paused by ' || coalesce(nullif(p_by, ''), 'an operator')),
        disabled_at = coalesce(case when not s.enabled then s.disabled_at end, lanework.now()), errors = 0,
        revision = s.revision + 1, set_by = 'operator', changed_by = p_by, updated_at = lanework.now()
    where s.name = p_name;
    perform lanework.audit(p_by, 'schedule.pause', 'schedule:' || p_name, v_before, lanework.show_schedule(p_name));
end $$;

-- Goes on from now: what fell into the pause was not missed, and one row says so.
create function lanework.resume_schedule(p_name text, p_by text) returns void
language plpgsql volatile as $$
declare
    v_before jsonb := lanework.hold_schedule(p_name);
    v_now timestamptz := lanework.now();
begin
    insert into lanework.ticks (schedule, tick, outcome, reason, until, at, ended)
    select s.name, s.disabled_at, 'skipped', 'disabled: ' || coalesce(s.disabled_because, ''), v_now, v_now, 'skipped'
    from lanework.schedules s where s.name = p_name and not s.enabled and s.disabled_at is not null
    on conflict do nothing;
    update lanework.schedules s
    set enabled = true, disabled_because = null, disabled_at = null, errors = 0, last_error = null, not_before = null,
        last_tick = case when s.enabled then s.last_tick else v_now end, next_at = null, revision = s.revision + 1,
        set_by = 'operator', changed_by = p_by, updated_at = v_now
    where s.name = p_name;
    perform lanework.audit(p_by, 'schedule.resume', 'schedule:' || p_name, v_before, lanework.show_schedule(p_name));
    perform lanework.hint_schedules();
end $$;

-- As if its time had come, paused or not. p_force: without its condition, and beside a job that still runs.
create function lanework.run_schedule(p_name text, p_by text, p_force boolean)
returns table (tick timestamptz, outcome text, reason text, job_id bigint)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_tick timestamptz;
begin
    perform lanework.hold_schedule(p_name);
    perform lanework.settle_ticks(p_name);
    v_tick := lanework.now() + interval '1 microsecond'; -- beside the moments that clocks show
    while not lanework.fire_tick(p_name, v_tick, coalesce(p_by, ''), p_force) loop
        v_tick := v_tick + interval '1 microsecond'; -- somebody else's tick
    end loop;
    perform lanework.audit(p_by, 'schedule.run', 'schedule:' || p_name, null,
                           (select to_jsonb(k) from lanework.ticks k where k.schedule = p_name and k.tick = v_tick));
    return query select k.tick, k.outcome, k.reason, coalesce(k.job_id, k.condition_id) from lanework.ticks k
        where k.schedule = p_name and k.tick = v_tick;
end $$;

-- Jobs that it made go on. A schedule that code declares stays removed.
create function lanework.remove_schedule(p_name text, p_by text) returns void
language plpgsql volatile as $$
declare
    v_before jsonb := lanework.hold_schedule(p_name);
begin
    update lanework.schedules s
    set removed = true, enabled = false, revision = s.revision + 1, set_by = 'operator', changed_by = p_by, updated_at = lanework.now()
    where s.name = p_name;
    delete from lanework.schedules s where s.name = p_name and s.code is null;
    perform lanework.audit(p_by, 'schedule.remove', 'schedule:' || p_name, v_before);
end $$;

-- Takes back what operators did: the schedule is again as code says, and follows it.
create function lanework.reset_schedule(p_name text, p_by text) returns void
language plpgsql volatile as $$
declare
    s lanework.schedules%rowtype;
    v_before jsonb := lanework.show_schedule(p_name);
begin
    select * into s from lanework.schedules x where x.name = p_name for no key update;
    if s.code is null then
        raise exception 'no code declares a schedule %', quote_literal(p_name) using errcode = 'LW531';
    end if;
    update lanework.schedules x
    set removed = false, set_by = 'code', changed_by = p_by, disabled_because = null, disabled_at = null where x.name = p_name;
    perform lanework.apply_schedule(p_name, s.code);
    perform lanework.audit(p_by, 'schedule.reset', 'schedule:' || p_name, v_before, lanework.show_schedule(p_name));
end $$;

-- What code declares: inserted where it is missing, followed where no operator has touched it. Answers what it did with which.
create function lanework.register_schedules(p_schedules jsonb) returns table (name text, did text)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    x jsonb;
    s lanework.schedules%rowtype;
    v_did text;
begin
    perform pg_advisory_xact_lock(1279350094, 3);
    for x in select e from jsonb_array_elements(p_schedules) e order by e ->> 'name' loop
        select * into s from lanework.schedules k where k.name = x ->> 'name' for no key update;
        if not found then
            insert into lanework.schedules (name, type, cron, every_s, code)
            values (x ->> 'name', x ->> 'type', x ->> 'cron', (x ->> 'every_s')::float8, x - 'name');
            perform lanework.apply_schedule(x ->> 'name', x - 'name');
            v_did := 'created';
        elsif s.code is not distinct from x - 'name' then
            v_did := 'same';
        else
            update lanework.schedules k set code = x - 'name' where k.name = s.name;
            v_did := 'left to its operator';
            if s.set_by = 'code' then
                -- what errors have disabled stays disabled until somebody has looked
                perform lanework.apply_schedule(s.name, case when s.disabled_because is null then x - 'name' else x - 'name' - 'enabled' end);
                v_did := 'changed';
            end if;
        end if;
        return query select x ->> 'name', v_did;
    end loop;
end $$;

create function lanework.prune_schedules(p_limit int default 2000) returns table (thing text, removed int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
begin
    return query
    with gone as (
        delete from lanework.ticks k where (k.schedule, k.tick) in (
            select x.schedule, x.tick from lanework.ticks x
            where x.at < v_now - lanework.keep('ticks') and x.ended is not null order by x.at limit p_limit) returning 1)
    select 'ticks', count(*)::int from gone having count(*) > 0;
    return query
    with gone as (
        delete from lanework.maintenance_runs r where r.id in (
            select x.id from lanework.maintenance_runs x
            where x.started_at < v_now - lanework.keep('maintenance_runs') and x.outcome <> 'running' order by x.id limit p_limit) returning 1)
    select 'maintenance_runs', count(*)::int from gone having count(*) > 0;
end $$;

-- Maintenance tasks: the engine's own housekeeping. `sql` is run by the leader's guard; `python` is a job for a worker that has it.

create table lanework.maintenance_tasks (
    name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}$'),
    kind text not null check (kind in ('sql', 'python')),
    description text not null default '',
    cron text,
    every_s double precision check (every_s between 1 and 31622400),
    tz text not null default 'UTC',
    timeout_s double precision not null default 300 check (timeout_s between 1 and 86400),
    enabled boolean not null default true,
    set_by text not null default 'code' check (set_by in ('code', 'operator')),
    removed boolean not null default false,
    next_at timestamptz not null default lanework.now(),
    asked_by text, -- "run now"
    fence bigint not null default 0,
    job_id bigint,
    running_until timestamptz,
    updated_at timestamptz not null default lanework.now(),
    check ((cron is null) <> (every_s is null))
);

create table lanework.maintenance_runs (
    id bigint generated always as identity primary key,
    task text not null,
    fence bigint not null,
    worker_id bigint,
    job_id bigint,
    asked_by text,
    started_at timestamptz not null default lanework.now(),
    ended_at timestamptz,
    outcome text not null default 'running' check (outcome in ('running', 'ok', 'failed', 'timeout', 'cancelled', 'lost', 'skipped')),
    error text not null default '',
    counts jsonb not null default '{}'
);
create unique index on lanework.maintenance_runs (task, fence);
create index on lanework.maintenance_runs (task, id);

insert into lanework.maintenance_tasks (name, kind, description, every_s, timeout_s) values
    ('rollups', 'sql', 'merges metrics of past minutes', 60, 60),
    ('partitions', 'sql', 'makes room for the ids of coming jobs', 600, 60),
    ('retention', 'sql', 'removes finished jobs, logs, events and history that have outlived their time', 60, 300),
    ('cleanup', 'sql', 'removes blobs and holds that nobody needs', 600, 300),
    ('seals', 'sql', 'chains new rows of the audit log by hashes', 60, 60),
    ('indexes', 'sql', 'rebuilds bloated indexes without locking anybody out', 86400, 3600);
-- an index is not looked at in the first minutes of a new database
update lanework.maintenance_tasks set next_at = lanework.now() + interval '1 hour' where name = 'indexes';

-- Writes down the end of runs that could not do it themselves: jobs that failed, guards that died.
create function lanework.settle_tasks() returns void
language plpgsql volatile as $$
declare
    r record;
    v_now timestamptz := lanework.now();
begin
    for r in
        select x.id, x.task, x.fence, case when x.job_id is null then 'lost' when a.status::text = 'cancelled' then 'cancelled'
                   when a.error_class = 'timeout' then 'timeout' when a.status is null then 'lost' else 'failed' end as outcome,
               coalesce(a.error, case when x.job_id is null then 'the guard that ran it has died' else 'its job is gone' end) as error
        from lanework.maintenance_runs x
        join lanework.maintenance_tasks t on t.name = x.task
        left join lateral (select j.status, j.error_class, j.error from lanework.all_jobs j where j.id = x.job_id offset 0) a on true
        where x.outcome = 'running'
          and case when x.job_id is null then t.running_until < v_now or t.fence <> x.fence
              else a.status is null or a.status in ('completed', 'failed', 'cancelled') end
        order by x.id for no key update of t skip locked
    loop
        perform lanework.end_task(r.task, r.fence, r.outcome, r.error, '{}');
    end loop;
end $$;

-- Ends a run under its fence. Answers false if it was given up before.
create function lanework.end_task(p_name text, p_fence bigint, p_outcome text, p_error text, p_counts jsonb) returns boolean
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
    r lanework.maintenance_runs%rowtype;
begin
    perform from lanework.maintenance_tasks t where t.name = p_name for no key update;
    update lanework.maintenance_runs x
    set outcome = p_outcome, error = left(coalesce(p_error, ''), 2000), counts = coalesce(p_counts, '{}'), ended_at = v_now
    where x.task = p_name and x.fence = p_fence and x.outcome = 'running' returning * into r;
    if r.id is null then return false; end if;
    update lanework.maintenance_tasks t set running_until = null, job_id = null where t.name = p_name and t.fence = p_fence;
    perform lanework.tell('maintenance', 'maintenance.run', r.job_id, jsonb_build_object(
        'task', p_name, 'outcome', p_outcome, 'error', r.error, 'counts', r.counts, 'seconds', extract(epoch from v_now - r.started_at)));
    return true;
end $$;

create function lanework.due_tasks() returns table (
    name text, kind text, cron text, every_s double precision, tz text, timeout_s double precision, now timestamptz)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
begin
    perform lanework.settle_tasks();
    return query
    select t.name, t.kind, t.cron, t.every_s, t.tz, t.timeout_s, v_now from lanework.maintenance_tasks t
    where not t.removed and (t.enabled and t.next_at <= v_now or t.asked_by is not null)
      and t.job_id is null and coalesce(t.running_until, '-infinity') < v_now
    order by t.next_at, t.name;
end $$;

-- Takes a task that is due: one run in the cluster, under a fence. Answers null if somebody else has it.
create function lanework.begin_task(p_name text, p_worker bigint, p_next timestamptz) returns bigint
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
    v_asked text := (select x.asked_by from lanework.maintenance_tasks x where x.name = p_name);
    t lanework.maintenance_tasks%rowtype;
    v_job bigint;
    v_error text;
begin
    update lanework.maintenance_tasks x
    set fence = x.fence + 1, running_until = v_now + make_interval(secs => x.timeout_s + 30), asked_by = null, next_at = p_next
    where x.name = p_name and not x.removed and (x.enabled and x.next_at <= v_now or x.asked_by is not null)
      and x.job_id is null and coalesce(x.running_until, '-infinity') < v_now
    returning * into t;
    if t.name is null then return null; end if;
    if t.kind = 'python' then
        begin
            v_job := lanework.enqueue(type => p_name || ':maintenance', payload => jsonb_build_object('task', p_name, 'fence', t.fence));
        exception when others then
            if sqlstate not like 'LW%' then raise; end if;
            v_error := sqlerrm;
        end;
        update lanework.maintenance_tasks x set job_id = v_job, running_until = null where x.name = p_name;
    end if;
    insert into lanework.maintenance_runs (task, fence, worker_id, job_id, asked_by, started_at)
    values (p_name, t.fence, p_worker, v_job, v_asked, v_now);
    if v_error is not null then
        perform lanework.end_task(p_name, t.fence, 'failed', v_error, '{}');
    end if;
    return t.fence;
end $$;

-- One piece of a task that is plain SQL; the guard calls it again while there is more.
create function lanework.run_task(p_name text) returns table (thing text, count int)
language plpgsql volatile as $$
#variable_conflict use_column
begin
    if p_name = 'rollups' then
        return query select 'merged', lanework.merge_rollups();
    elsif p_name = 'partitions' then
        return query select 'made', lanework.extend_history() + lanework.extend_events();
    elsif p_name = 'retention' then
        return query select * from lanework.prune();
        return query select * from lanework.prune_schedules();
    elsif p_name = 'cleanup' then
        return query select * from lanework.clean_up();
    elsif p_name = 'seals' then
        return query select 'sealed', lanework.seal_audit(10000);
    end if;
end $$;

-- What nobody needs any more, whatever its age.
create function lanework.clean_up(p_limit int default 2000) returns table (thing text, removed int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
begin
    delete from lanework.job_blobs b where (b.job_id, b.hash) in (
        select x.job_id, x.hash from lanework.job_blobs x
        where x.at < v_now - lanework.keep('steps') and not exists (select from lanework.jobs j where j.id = x.job_id) limit p_limit);
    return query
    with gone as (
        delete from lanework.blobs b where b.hash in (
            select x.hash from lanework.blobs x
            where x.at < v_now - lanework.keep('steps') and not exists (select from lanework.job_blobs u where u.hash = x.hash)
            limit p_limit) returning 1)
    select 'blobs', count(*)::int from gone having count(*) > 0;
end $$;

-- Indexes far larger than their entries need, by an estimate from the catalogue, and what an interrupted rebuild has left. Nothing
-- while a long transaction is open: a rebuild would wait for it.
create function lanework.bloated_indexes(p_least bigint default 16777216) returns table (name text, bytes bigint, command text)
language plpgsql volatile as $$
#variable_conflict use_column
begin
    if exists (
        select from pg_stat_activity a
        where a.datname = current_database() and a.xact_start < clock_timestamp() - interval '1 min' and a.pid <> pg_backend_pid()) then
        return;
    end if;
    return query
    select c.relname::text, pg_relation_size(c.oid),
           case when i.indisvalid then format('reindex index concurrently lanework.%I', c.relname)
                else format('drop index concurrently lanework.%I', c.relname) end
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = 'lanework'::regnamespace and c.relkind = 'i'
      and (not i.indisvalid and c.relname ~ '_ccnew\d*$'
           or i.indisvalid and c.reltuples >= 0 and pg_relation_size(c.oid) > greatest(p_least, 4 * 80 * c.reltuples))
    order by pg_relation_size(c.oid);
end $$;

create function lanework.hold_task(p_name text) returns lanework.maintenance_tasks
language plpgsql volatile as $$
declare
    t lanework.maintenance_tasks%rowtype;
begin
    select * into t from lanework.maintenance_tasks x where x.name = p_name and not x.removed for no key update;
    if not found then
        raise exception 'there is no maintenance task %', quote_literal(p_name) using errcode = 'LW533';
    end if;
    return t;
end $$;

create function lanework.enable_task(p_name text, p_enabled boolean, p_by text) returns void
language plpgsql volatile as $$
declare
    t lanework.maintenance_tasks%rowtype := lanework.hold_task(p_name);
begin
    update lanework.maintenance_tasks x set enabled = p_enabled, set_by = 'operator', updated_at = lanework.now() where x.name = p_name;
    perform lanework.audit(p_by, case when p_enabled then 'maintenance.enable' else 'maintenance.disable' end, 'maintenance:' || p_name,
                           jsonb_build_object('enabled', t.enabled), jsonb_build_object('enabled', p_enabled));
end $$;

-- At the next look of the leader, enabled or not; a run that is under way is waited for.
create function lanework.ask_task(p_name text, p_by text) returns void
language plpgsql volatile as $$
begin
    perform lanework.hold_task(p_name);
    update lanework.maintenance_tasks x set asked_by = coalesce(nullif(p_by, ''), 'operator') where x.name = p_name;
    perform lanework.audit(p_by, 'maintenance.run', 'maintenance:' || p_name);
    perform lanework.hint_schedules();
end $$;

create function lanework.remove_task(p_name text, p_by text) returns void
language plpgsql volatile as $$
declare
    t lanework.maintenance_tasks%rowtype := lanework.hold_task(p_name);
begin
    if t.kind = 'sql' then
        raise exception 'name: % is built in; disable it instead', quote_literal(p_name) using errcode = 'LW530';
    end if;
    -- code that still declares it does not bring it back
    update lanework.maintenance_tasks x set removed = true, set_by = 'operator', updated_at = lanework.now() where x.name = p_name;
    perform lanework.audit(p_by, 'maintenance.remove', 'maintenance:' || p_name, to_jsonb(t));
end $$;

-- What code declares; an operator's values stay.
create function lanework.register_tasks(p_tasks jsonb) returns void
language plpgsql volatile as $$
begin
    perform pg_advisory_xact_lock(1279350094, 3);
    if exists (select from jsonb_array_elements(p_tasks) x join lanework.maintenance_tasks t on t.name = x ->> 'name' and t.kind = 'sql') then
        raise exception 'name: a maintenance task of that name is built in; choose another' using errcode = 'LW530';
    end if;
    insert into lanework.maintenance_tasks as t (name, kind, description, cron, every_s, tz, timeout_s)
    select x.name, 'python', x.description, x.cron, x.every_s, x.tz, x.timeout_s
    from jsonb_to_recordset(p_tasks) as x(name text, description text, cron text, every_s float8, tz text, timeout_s float8)
    order by x.name
    on conflict (name) do update
    set description = excluded.description, timeout_s = excluded.timeout_s, cron = excluded.cron, every_s = excluded.every_s, tz = excluded.tz,
        next_at = least(t.next_at, case when (t.cron, t.every_s, t.tz) is distinct from (excluded.cron, excluded.every_s, excluded.tz)
                                        then lanework.now() else t.next_at end)
    where (t.description, t.timeout_s, t.cron, t.every_s, t.tz)
          is distinct from (excluded.description, excluded.timeout_s, excluded.cron, excluded.every_s, excluded.tz);
end $$;

-- What somebody should look at: schedules that errors have disabled, schedules that nobody fires, tasks whose last run failed.
create function lanework.schedule_alarms() returns table (kind text, name text, what text)
language sql stable as $$
    select 'disabled', s.name, s.disabled_because from lanework.schedules s
    where not s.removed and not s.enabled and s.errors >= 5
    union all
    select 'overdue', s.name, format('was due at %s', to_char(s.next_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    from lanework.schedules s where s.enabled and not s.removed and s.next_at < lanework.now() - interval '1 min'
    union all
    select 'task', t.name, r.error from lanework.maintenance_tasks t
    cross join lateral (
        select r.outcome, r.error from lanework.maintenance_runs r where r.task = t.name and r.outcome <> 'running' order by r.id desc limit 1) r
    where r.outcome not in ('ok', 'skipped') and t.enabled and not t.removed
$$;
