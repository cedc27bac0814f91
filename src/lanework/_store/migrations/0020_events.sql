-- Events and metrics: what happened, told once per batch, and counted per minute.
--
-- Every change of state is caught where it arrives: by triggers on the tables that jobs move into, once per statement. So nothing
-- that changes a job's state has to remember to tell of it. New jobs are told of by `new_jobs`, started ones by the claim itself:
-- there is one way into `running`.

-- Metrics. Each session adds to rows of its own in the transaction that it counts, so nobody waits for anybody; the leader merges
-- old minutes (writer 0). Times are histograms over fixed bounds: place k counts what is below bound k and not below bound k - 1,
-- the last one what is beyond them all. They are mergeable by adding them up, and as long as the highest place that is used.
-- Lane 0: jobs that no lane has claimed yet; they count for the lane that their type is in when somebody asks.
create table lanework.rollups (
    minute timestamptz not null,
    writer int not null,
    lane_id int not null,
    type_id int not null,
    submitted bigint not null default 0,
    started bigint not null default 0,
    completed bigint not null default 0,
    failed bigint not null default 0,
    retried bigint not null default 0,
    recovered bigint not null default 0,
    cancelled bigint not null default 0,
    wait_s double precision not null default 0,
    run_s double precision not null default 0,
    spend numeric not null default 0,
    wait_hist int[],
    run_hist int[],
    primary key (minute, writer, lane_id, type_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Failures and retries by their class.
create table lanework.error_rollups (
    minute timestamptz not null,
    writer int not null,
    lane_id int not null,
    type_id int not null,
    error_class text not null,
    failed bigint not null default 0,
    retried bigint not null default 0,
    primary key (minute, writer, lane_id, type_id, error_class)
) with (fillfactor = 50);

-- From a millisecond on, two places for each doubling.
create function lanework.bucket_bounds() returns interval[]
language sql immutable parallel safe
return '{
    0.001s,0.001414s,0.002s,0.002828s,0.004s,0.005657s,0.008s,0.011314s,0.016s,0.022627s,0.032s,0.045255s,0.064s,0.09051s,
    0.128s,0.181019s,0.256s,0.362039s,0.512s,0.724077s,1.024s,1.448155s,2.048s,2.896309s,4.096s,5.792619s,8.192s,
    11.585238s,16.384s,23.170475s,32.768s,46.34095s,65.536s,92.6819s,131.072s,185.3638s,262.144s,370.7276s,524.288s,
    741.4552s,1048.576s,1482.9104s,2097.152s,2965.820801s,4194.304s,5931.641602s,8388.608s,11863.283203s,16777.216s,
    23726.566406s,33554.432s,47453.132812s,67108.864s,94906.265624s,134217.728s,189812.531249s,268435.456s,379625.062497s,
    536870.912s,759250.124994s,1073741.824s,1518500.249988s,2147483.648s}'::interval[];

create function lanework.histogram(p_places int[], p_counts bigint[]) returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_last int := -1;
    v_all int[];
begin
    for i in 1 .. coalesce(cardinality(p_places), 0) loop
        if p_places[i] > v_last then v_last := p_places[i]; end if;
    end loop;
    if v_last < 0 then return null; end if;
    v_all := array_fill(0, array[v_last + 1]);
    for i in 1 .. cardinality(p_places) loop
        if p_places[i] is not null then
            v_all[p_places[i] + 1] := v_all[p_places[i] + 1] + p_counts[i];
        end if;
    end loop;
    return v_all;
end $$;

create function lanework.add_histogram(p_one int[], p_other int[]) returns int[]
language plpgsql immutable parallel safe as $$
begin
    if p_one is null or p_other is null then return coalesce(p_one, p_other); end if;
    return array(select coalesce(u.a, 0) + coalesce(u.b, 0) from unnest(p_one, p_other) with ordinality as u(a, b, n) order by u.n);
end $$;

create function lanework.add_to_sum(p_sum bigint[], p_one int[]) returns bigint[]
language plpgsql immutable parallel safe as $$
begin
    if p_one is null then return p_sum; end if;
    return array(select coalesce(u.a, 0) + coalesce(u.b, 0) from unnest(p_sum, p_one) with ordinality as u(a, b, n) order by u.n);
end $$;
create aggregate lanework.sum_histogram(int[]) (sfunc = lanework.add_to_sum, stype = bigint[], initcond = '{}');

-- Money spent by runs of a type, from whoever knows it.
create function lanework.add_spend(p_lane int, p_type int, p_amount numeric) returns void
language sql volatile as $$
    insert into lanework.rollups as r (minute, writer, lane_id, type_id, spend)
    values (date_trunc('minute', lanework.now()), pg_backend_pid(), p_lane, p_type, p_amount)
    on conflict (minute, writer, lane_id, type_id) do update set spend = r.spend + excluded.spend
$$;

-- What a job has told of its cost, and what its reservations were settled for.
create function lanework.note_spending() returns trigger
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    perform lanework.add_spend(
        coalesce(j.lane_id, 0), j.type_id, new.amount - case when tg_op = 'UPDATE' then old.amount else 0 end)
    from lanework.all_jobs j where j.id = new.job_id;
    return null;
end $$;
create trigger note_spending after insert or update on lanework.spending for each row execute function lanework.note_spending();

-- Completed and cancelled jobs, in one pass. Run times are those of completed runs.
create function lanework.note_done() returns trigger
language plpgsql as $$
declare
    v_low bigint;
    v_high bigint;
    v_count bigint;
    v_kind text;
begin
    with x as materialized (
        -- jobs that were claimed and finished together ran equally long: one group, and few sums, for most batches
        select a.lane_id, a.type_id, a.status, width_bucket(a.finished_at - a.claimed_at, lanework.bucket_bounds()) as bucket,
               count(*) as n, count(*) * (a.finished_at - a.claimed_at) as ran, min(a.id) as low, max(a.id) as high
        from added a group by a.lane_id, a.type_id, a.status, a.claimed_at, a.finished_at
    ), counted as (
        insert into lanework.rollups as r (minute, writer, lane_id, type_id, completed, cancelled, run_s, run_hist)
        select date_trunc('minute', lanework.now()), pg_backend_pid(), coalesce(x.lane_id, 0) as lane, x.type_id,
               coalesce(sum(x.n) filter (where x.status = 'completed'), 0), coalesce(sum(x.n) filter (where x.status <> 'completed'), 0),
               coalesce(extract(epoch from sum(x.ran) filter (where x.status = 'completed')), 0),
               lanework.histogram(array_agg(x.bucket) filter (where x.status = 'completed'),
                                  array_agg(x.n) filter (where x.status = 'completed'))
        from x group by lane, x.type_id
        on conflict (minute, writer, lane_id, type_id) do update
        set completed = r.completed + excluded.completed, cancelled = r.cancelled + excluded.cancelled, run_s = r.run_s + excluded.run_s,
            run_hist = lanework.add_histogram(r.run_hist, excluded.run_hist)
    )
    select min(x.low), max(x.high), sum(x.n), case when min(x.status) = max(x.status) then min(x.status)::text end
    into v_low, v_high, v_count, v_kind from x;
    if v_count > 1 and v_kind is not null and v_high - v_low + 1 = v_count then -- they follow each other, as most batches do
        insert into lanework.events (topic, kind, job_range) select 'job', v_kind, int8range(v_low, v_high, '[]')
        where not exists (select from lanework.silent_kinds s where s.topic = 'job' and s.kind in (v_kind, '*'));
    elsif v_count > 0 then
        insert into lanework.events (topic, kind, job_ids)
        select 'job', a.status::text, array_agg(a.id) from added a
        where not exists (select from lanework.silent_kinds s where s.topic = 'job' and s.kind in (a.status::text, '*'))
        group by a.status;
    end if;
    return null;
end $$;
create trigger note_done after insert on lanework.jobs_done
    referencing new table as added for each statement execute function lanework.note_done();

-- Adds counts of failures and retries: one row per (lane, type, class) in each of the arrays.
create function lanework.count_errors(p_lanes int[], p_types int[], p_classes text[], p_failed bigint[], p_retried bigint[], p_recovered bigint[])
returns void language plpgsql volatile as $$
declare
    v_minute timestamptz := date_trunc('minute', lanework.now());
begin
    insert into lanework.rollups as r (minute, writer, lane_id, type_id, failed, retried, recovered)
    select v_minute, pg_backend_pid(), u.lane, u.type, sum(u.failed), sum(u.retried), sum(u.recovered)
    from unnest(p_lanes, p_types, p_failed, p_retried, p_recovered) as u(lane, type, failed, retried, recovered)
    group by u.lane, u.type
    on conflict (minute, writer, lane_id, type_id) do update
    set failed = r.failed + excluded.failed, retried = r.retried + excluded.retried, recovered = r.recovered + excluded.recovered;
    insert into lanework.error_rollups as r (minute, writer, lane_id, type_id, error_class, failed, retried)
    select v_minute, pg_backend_pid(), u.lane, u.type, u.class, u.failed, u.retried
    from unnest(p_lanes, p_types, p_classes, p_failed, p_retried) as u(lane, type, class, failed, retried)
    where u.failed + u.retried > 0
    on conflict (minute, writer, lane_id, type_id, error_class) do update
    set failed = r.failed + excluded.failed, retried = r.retried + excluded.retried;
end $$;

create function lanework.note_failed() returns trigger
language plpgsql as $$
begin
    if not exists (select from added) then return null; end if;
    insert into lanework.events (topic, kind, job_ids, data)
    select 'job', 'failed', array_agg(a.id), jsonb_build_object('error_class', a.error_class, 'error_code', a.error_code)
    from added a
    where not exists (select from lanework.silent_kinds s where s.topic = 'job' and s.kind in ('failed', '*'))
    group by a.error_class, a.error_code;
    perform lanework.count_errors(
        array_agg(x.lane), array_agg(x.type_id), array_agg(x.error_class), array_agg(x.n), array_agg(0::bigint), array_agg(0::bigint))
    from (
        select coalesce(a.lane_id, 0) as lane, a.type_id, a.error_class, count(*) as n
        from added a group by 1, 2, 3) x;
    return null;
end $$;
create trigger note_failed after insert on lanework.jobs_failed
    referencing new table as added for each statement execute function lanework.note_failed();

-- Attempts that ended without ending their job. (The others are told of where the job arrives.)
create function lanework.note_attempts() returns trigger
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    if not exists (select from added a where a.outcome in ('retry', 'snooze', 'release', 'wait')) then return null; end if;
    insert into lanework.events (topic, kind, job_ids, data)
    select 'job', x.kind, x.ids, jsonb_strip_nulls(jsonb_build_object('error_class', x.error_class, 'cause', x.cause))
    from (
        select lanework.kind_of(a.outcome) as kind, a.error_class, a.cause, array_agg(a.job_id) as ids
        from added a where a.outcome in ('retry', 'snooze', 'release', 'wait') group by 1, 2, 3) x
    where not exists (select from lanework.silent_kinds s where s.topic = 'job' and s.kind in (x.kind, '*'));
    perform lanework.count_errors(
        array_agg(x.lane_id), array_agg(x.type_id), array_agg(x.error_class), array_agg(0::bigint), array_agg(x.retried), array_agg(x.recovered))
    from (
        select coalesce(j.lane_id, 0) as lane_id, j.type_id, coalesce(a.error_class, 'unknown') as error_class,
               count(*) filter (where a.outcome = 'retry') as retried, count(*) filter (where a.outcome = 'release') as recovered
        from added a cross join lateral (select j.lane_id, j.type_id from lanework.jobs j where j.id = a.job_id offset 0) j
        where a.outcome in ('retry', 'release') group by 1, 2, 3) x
    having count(*) > 0;
    return null;
end $$;

-- What the end of an attempt is called in a job's stream.
create function lanework.kind_of(p_outcome text) returns text
language sql immutable parallel safe
return case p_outcome when 'retry' then 'retried' when 'snooze' then 'snoozed' when 'release' then 'recovered' when 'wait' then 'blocked'
                      when 'fail' then 'failed' else p_outcome end;
create trigger note_attempts after insert on lanework.attempts
    referencing new table as added for each statement execute function lanework.note_attempts();

-- Log lines are stored once, in `logs`; the event says where. A job's lines in the range are those of this event, since only its
-- claim's holder writes any.
create function lanework.note_logs() returns trigger
language plpgsql as $$
begin
    insert into lanework.events (topic, kind, job_ids, data)
    select 'log', 'lines', x.ids, jsonb_build_object('first', x.first, 'last', x.last)
    from (select array_agg(distinct a.job_id) as ids, min(a.id) as first, max(a.id) as last from added a) x
    where x.ids is not null and not exists (select from lanework.silent_kinds s where s.topic = 'log' and s.kind in ('lines', '*'));
    return null;
end $$;
create trigger note_logs after insert on lanework.logs
    referencing new table as added for each statement execute function lanework.note_logs();

create function lanework.note_progress() returns trigger
language plpgsql as $$
begin
    insert into lanework.events (topic, kind, job_ids, data)
    select 'progress', 'progress', x.ids, jsonb_build_object('jobs', x.jobs)
    from (
        select array_agg(a.job_id order by a.job_id) as ids,
               jsonb_agg(jsonb_build_object('id', a.job_id, 'fraction', a.fraction, 'message', left(a.message, 200)) order by a.job_id) as jobs
        from added a) x
    where x.ids is not null and not exists (select from lanework.silent_kinds s where s.topic = 'progress' and s.kind in ('progress', '*'));
    return null;
end $$;
create trigger note_first_progress after insert on lanework.progress
    referencing new table as added for each statement execute function lanework.note_progress();
create trigger note_progress after update on lanework.progress
    referencing new table as added for each statement execute function lanework.note_progress();

-- Switches the telling of a kind of events (or of all of a topic: '*') on or off. Counting goes on.
create function lanework.set_telling(p_topic text, p_kind text, p_told boolean, p_by text) returns void
language plpgsql volatile as $$
declare
    v_before boolean := not exists (select from lanework.silent_kinds s where s.topic = p_topic and s.kind = p_kind);
begin
    if p_told then
        delete from lanework.silent_kinds s where s.topic = p_topic and s.kind = p_kind;
    else
        insert into lanework.silent_kinds values (p_topic, p_kind) on conflict do nothing;
    end if;
    perform lanework.audit(p_by, 'events.set', format('events:%s/%s', p_topic, p_kind),
                           jsonb_build_object('told', v_before), jsonb_build_object('told', p_told));
end $$;

-- The stream of all events. Transactions commit in another order than they take ids, so an order by id alone would make a reader
-- skip what commits late. Below the oldest transaction that still runs everything has been decided: there the order is (xid, id),
-- and a position in it stays one. Answers the horizon and the events after a position below it; from now on, if p_xid is null.
create function lanework.read_events(p_xid xid8, p_id bigint, p_topics text[] default null, p_kinds text[] default null, p_limit int default 500)
returns table (
    horizon xid8, xid xid8, id bigint, at timestamptz, topic text, kind text, job_id bigint, job_ids bigint[],
    first_id bigint, last_id bigint, data jsonb
)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
#variable_conflict use_column
declare
    v_horizon xid8 := pg_snapshot_xmin(pg_current_snapshot());
begin
    if p_xid > pg_snapshot_xmax(pg_current_snapshot()) then
        raise exception 'after: the cursor %-% is ahead of this database; it belongs to another one', p_xid, p_id using errcode = 'LW560';
    elsif p_xid > '0'::xid8 and p_xid::text::bigint < (select f.value from lanework.facts f where f.name = 'events_removed') then
        raise exception 'after: events that follow the cursor %-% have been removed; begin with 0-0, the oldest that is kept', p_xid, p_id
            using errcode = 'LW561';
    end if;
    return query select v_horizon, null::xid8, null::bigint, null::timestamptz, null::text, null::text, null::bigint, null::bigint[],
                        null::bigint, null::bigint, null::jsonb;
    if p_xid is null then return; end if;
    return query
    select v_horizon, e.xid, e.id, e.at, e.topic, e.kind, e.job_id, e.job_ids, lower(e.job_range), upper(e.job_range) - 1,
           case when e.topic = 'log' and e.kind = 'lines' then lanework.lines_of(e.job_ids, e.data) else e.data end
    from lanework.events e
    where (e.xid, e.id) > (p_xid, p_id) and e.xid < v_horizon and (p_topics is null or e.topic = any (p_topics))
      and (p_kinds is null or e.kind = any (p_kinds))
    order by e.xid, e.id limit p_limit;
end $$;

create function lanework.lines_of(p_jobs bigint[], p_data jsonb) returns jsonb
language sql stable as $$
    select jsonb_build_object('lines', coalesce(jsonb_agg(jsonb_build_object(
        'job', l.job_id, 'attempt', l.attempt, 'at', l.at, 'stream', l.stream, 'text', l.text) order by l.id), '[]'))
    from unnest(p_jobs) j
    cross join lateral (
        select l.* from lanework.logs l
        where l.job_id = j and l.id between (p_data ->> 'first')::bigint and (p_data ->> 'last')::bigint offset 0) l
$$;

-- How far the stream is behind, and who holds it: the oldest transaction with writes, in whatever database of the server.
create function lanework.event_horizon()
returns table (waiting int, since timestamptz, pid int, database text, application text, started_at timestamptz)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
#variable_conflict use_column
begin
    select count(*)::int, min(x.at) into waiting, since
    from (
        select e.at from lanework.events e
        where e.xid >= pg_snapshot_xmin(pg_current_snapshot()) order by e.xid, e.id limit 1000) x;
    if waiting > 0 then
        select x.pid, x.database, x.application, x.at into pid, database, application, started_at
        from (
            select a.pid, a.datname::text as database, a.application_name as application, a.xact_start as at, age(a.backend_xid) as age
            from pg_stat_activity a where a.backend_xid is not null and a.pid <> pg_backend_pid()
            union all
            select null, p.database::text, 'prepared: ' || p.gid, p.prepared, age(p.transaction) from pg_prepared_xacts p) x
        order by x.age desc limit 1;
    end if;
    return next;
end $$;

-- A job's own stream, from the tables that say what happened to it: the order is that of its life, and nothing had to be written
-- for it beside them. A position is (attempt, phase) for states, and the last ids of log lines and of acts.
--   phases: 0 submitted, 1 started, 2 log lines and progress, 3 ended and goes on later, 4 ended
-- The first row tells the job's status; no row at all: there is no such job. The others are unordered.
create function lanework.job_events(
    p_job bigint, p_attempt int default -1, p_phase int default 0, p_log bigint default 0, p_act bigint default 0,
    p_progress timestamptz default null, p_limit int default 500
) returns table (part text, attempt int, phase int, id bigint, at timestamptz, topic text, kind text, data jsonb)
language sql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
    with job as materialized (select * from lanework.all_jobs j where j.id = p_job),
    tries as materialized (select * from lanework.attempts a where a.job_id = p_job and a.attempt >= p_attempt),
    states as (
        select 0 as attempt, 0 as phase, j.created_at as at, 'submitted' as kind,
               jsonb_build_object('type', j.type, 'lane', j.lane) as data, 0 as rank from job j
        union all
        select a.attempt, 1, a.started_at, 'started', jsonb_build_object('attempt', a.attempt, 'worker', a.worker_id), 0
        from tries a where a.started_at is not null
        union all
        select j.attempt, 1, j.claimed_at, 'started', jsonb_build_object('attempt', j.attempt, 'worker', j.worker_id), 1
        from job j where j.claim_id is not null and j.status in ('running', 'completed', 'failed', 'cancelled')
        union all
        select a.attempt, case when a.outcome in ('fail', 'cancelled') then 4 else 3 end, a.ended_at, lanework.kind_of(a.outcome),
               jsonb_strip_nulls(jsonb_build_object(
                   'attempt', a.attempt, 'error_class', a.error_class, 'error_code', a.error_code, 'error', a.error, 'cause', a.cause)), 1
        from tries a
        union all
        select j.attempt, 4, j.finished_at, j.status::text,
               jsonb_strip_nulls(jsonb_build_object(
                   'attempt', j.attempt, 'error_class', j.error_class, 'error_code', j.error_code, 'error', nullif(j.error, ''),
                   'partial', nullif(j.partial, false))), 0
        from job j where j.finished_at is not null
    )
    select 'job', 0, 0, 0::bigint, null::timestamptz, '', j.status::text, null::jsonb from job j
    union all
    (select distinct on (s.attempt, s.phase) 'state', s.attempt, s.phase, 0::bigint, s.at, 'job', s.kind, s.data
     from states s where (s.attempt, s.phase) > (p_attempt, p_phase) order by s.attempt, s.phase, s.rank limit p_limit)
    union all
    (select 'log', l.attempt, 2, l.id, l.at, 'log', 'line', jsonb_build_object('attempt', l.attempt, 'stream', l.stream, 'text', l.text)
     from lanework.logs l where l.job_id = p_job and l.id > p_log order by l.job_id, l.id limit p_limit)
    union all
    (select 'act', 0, 0, e.id, e.at, e.topic, e.kind, e.data
     from lanework.events e where e.job_id = p_job and e.id > p_act order by e.job_id, e.id limit p_limit)
    union all
    select 'progress', p.attempt, 2, 0::bigint, p.at, 'progress', 'progress',
           jsonb_build_object('attempt', p.attempt, 'fraction', p.fraction, 'message', p.message, 'data', p.data)
    from lanework.progress p where p.job_id = p_job and p.at is distinct from p_progress
$$;

-- Who follows events, until when: workers send their hints only while there is somebody to hear them.
create table lanework.subscribers (
    id uuid primary key,
    until timestamptz not null
);

create function lanework.subscribe(p_id uuid, p_for interval) returns void
language sql volatile as $$
    insert into lanework.subscribers as s values (p_id, lanework.now() + p_for)
    on conflict (id) do update set until = excluded.until
$$;

-- A hint that there is something new. Sent by a process now and then while it works, never by what it tells of.
create function lanework.hint_events() returns void
language plpgsql volatile as $$
begin
    if exists (select from lanework.subscribers s where s.until > lanework.now()) and pg_notification_queue_usage() < 0.25 then
        perform pg_notify('lanework_events', '');
    end if;
end $$;

-- Ranges of a million ids, made ahead of need.
create function lanework.extend_events(p_ahead int default 3) returns int
language plpgsql set lock_timeout = '100ms' as $$
declare
    v_top bigint := (select last_value / 1000000 from lanework.event_ids);
    v_part bigint;
    v_name text;
    v_made int := 0;
begin
    if not pg_try_advisory_xact_lock(1279350094, 3) then return 0; end if;
    for v_part in select generate_series(v_top, v_top + p_ahead) loop
        v_name := format('events_%s', to_char(v_part, 'FM000000000'));
        continue when to_regclass('lanework.' || v_name) is not null;
        execute format('create table lanework.%I (like lanework.events including all) with (toast_tuple_target = 8160)', v_name);
        execute format(
            'with moved as (delete from lanework.events_rest where id >= %s and id < %s returning *)
             insert into lanework.%I select * from moved',
            v_part * 1000000, (v_part + 1) * 1000000, v_name);
        execute format(
            'alter table lanework.events attach partition lanework.%I for values from (%s) to (%s)',
            v_name, v_part * 1000000, (v_part + 1) * 1000000);
        v_made := v_made + 1;
    end loop;
    return v_made;
exception when lock_not_available then
    return 0; -- somebody is writing into the rest; the next round is soon
end $$;
select lanework.extend_events();

-- Old ranges leave whole: emptied in one round, which waits for nobody but readers of that range, and dropped in the next, when
-- nobody has anything to look for there. Neither waits longer than 100 ms, and what is written meanwhile waits no longer.
create function lanework.prune_events() returns table (thing text, removed int)
language plpgsql volatile set lock_timeout = '100ms' as $$
#variable_conflict use_column
declare
    v_old timestamptz := lanework.now() - lanework.keep('events');
    v_top bigint := (select last_value from lanework.event_ids);
    v_leaf record;
    v_last record;
    v_count int := 0;
begin
    insert into lanework.facts values ('events_removed', 0) on conflict do nothing;
    for v_leaf in
        select c.oid::regclass::text as name, (substr(c.relname, 8)::bigint + 1) * 1000000 as upto
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'lanework.events'::regclass and c.relname ~ '^events_[0-9]+$' order by c.relname
    loop
        exit when v_leaf.upto > v_top;
        begin
            execute format('select e.xid, e.at from %s e order by e.xid desc, e.id desc limit 1', v_leaf.name) into v_last;
            if v_last.at is null then
                execute format('drop table %s', v_leaf.name);
                continue;
            end if;
            exit when v_last.at >= v_old;
            execute format('lock table %s in access exclusive mode', v_leaf.name);
            -- whatever was being written there is written now
            execute format('select e.xid, e.at from %s e order by e.xid desc, e.id desc limit 1', v_leaf.name) into v_last;
            exit when v_last.at >= v_old;
            update lanework.facts f set value = greatest(f.value, v_last.xid::text::bigint) where f.name = 'events_removed';
            execute format('truncate %s', v_leaf.name);
            v_count := v_count + 1;
        exception when lock_not_available then
            exit;
        end;
    end loop;
    delete from lanework.events_rest e where e.at < v_old;
    delete from lanework.subscribers s where s.until < lanework.now() - interval '1 hour';
    return query select 'event ranges', v_count where v_count > 0;
end $$;

create function lanework.prune_rollups(p_limit int default 2000) returns table (thing text, removed int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_old timestamptz := lanework.now() - lanework.keep('rollups');
begin
    return query
    with gone as (
        delete from lanework.rollups r where (r.minute, r.writer, r.lane_id, r.type_id) in (
            select x.minute, x.writer, x.lane_id, x.type_id from lanework.rollups x where x.minute < v_old
            order by x.minute limit p_limit) returning 1)
    select 'rollups', count(*)::int from gone having count(*) > 0;
    delete from lanework.error_rollups r where (r.minute, r.writer, r.lane_id, r.type_id, r.error_class) in (
        select x.minute, x.writer, x.lane_id, x.type_id, x.error_class from lanework.error_rollups x where x.minute < v_old
        order by x.minute limit p_limit);
end $$;

-- Adds the sessions' rows of minutes that are over into one row (writer 0). What comes later still, from a transaction that was
-- open for long, is added when it is there. Each row is taken away and added by one statement: two leaders cannot add it twice.
create function lanework.merge_rollups(p_limit int default 2000) returns int
language plpgsql volatile as $$
declare
    v_before timestamptz := date_trunc('minute', lanework.now()) - interval '5 min';
    v_count int;
    v_errors int;
begin
    with old as (
        delete from lanework.rollups r where (r.minute, r.writer, r.lane_id, r.type_id) in (
            select x.minute, x.writer, x.lane_id, x.type_id from lanework.rollups x
            where x.minute < v_before and x.writer <> 0
            order by x.minute, x.lane_id, x.type_id, x.writer limit p_limit for update skip locked)
        returning r.*
    ), merged as (
        insert into lanework.rollups as r
        select o.minute, 0, o.lane_id, o.type_id, sum(o.submitted), sum(o.started), sum(o.completed), sum(o.failed), sum(o.retried),
               sum(o.recovered), sum(o.cancelled), sum(o.wait_s), sum(o.run_s), sum(o.spend),
               nullif(lanework.sum_histogram(o.wait_hist), '{}'), nullif(lanework.sum_histogram(o.run_hist), '{}')
        from old o group by o.minute, o.lane_id, o.type_id order by o.minute, o.lane_id, o.type_id
        on conflict (minute, writer, lane_id, type_id) do update
        set submitted = r.submitted + excluded.submitted, started = r.started + excluded.started,
            completed = r.completed + excluded.completed, failed = r.failed + excluded.failed, retried = r.retried + excluded.retried,
            recovered = r.recovered + excluded.recovered, cancelled = r.cancelled + excluded.cancelled,
            wait_s = r.wait_s + excluded.wait_s, run_s = r.run_s + excluded.run_s, spend = r.spend + excluded.spend,
            wait_hist = lanework.add_histogram(r.wait_hist, excluded.wait_hist),
            run_hist = lanework.add_histogram(r.run_hist, excluded.run_hist)
    )
    select count(*) into v_count from old;
    with old as (
        delete from lanework.error_rollups r where (r.minute, r.writer, r.lane_id, r.type_id, r.error_class) in (
            select x.minute, x.writer, x.lane_id, x.type_id, x.error_class from lanework.error_rollups x
            where x.minute < v_before and x.writer <> 0
            order by x.minute, x.lane_id, x.type_id, x.error_class, x.writer limit p_limit for update skip locked)
        returning r.*
    ), merged as (
        insert into lanework.error_rollups as r
        select o.minute, 0, o.lane_id, o.type_id, o.error_class, sum(o.failed), sum(o.retried)
        from old o group by o.minute, o.lane_id, o.type_id, o.error_class order by o.minute, o.lane_id, o.type_id, o.error_class
        on conflict (minute, writer, lane_id, type_id, error_class) do update
        set failed = r.failed + excluded.failed, retried = r.retried + excluded.retried
    )
    select count(*) into v_errors from old;
    return v_count + v_errors;
end $$;

-- Metrics of a span of time in steps (null: the whole span is one), per lane and type.
create function lanework.read_metrics(p_since timestamptz, p_until timestamptz, p_step interval, p_lanes text[], p_types text[])
returns table (
    at timestamptz, lane text, type text, submitted bigint, started bigint, completed bigint, failed bigint, retried bigint,
    recovered bigint, cancelled bigint, wait_s double precision, run_s double precision, spend numeric,
    wait_hist bigint[], run_hist bigint[], failed_by jsonb
)
language sql stable as $$
    with found as (
        select case when p_step is null then p_since else date_bin(p_step, r.minute, p_since) end as at,
               coalesce(l.name, case when r.lane_id = 0 then t.lane end, '') as lane, coalesce(t.name, '') as type, r.*
        from lanework.rollups r
        left join lanework.lanes l on l.id = r.lane_id
        left join lanework.job_types t on t.id = r.type_id
        where r.minute >= p_since and r.minute < p_until
    ), sums as (
        select f.at, f.lane, f.type, sum(f.submitted)::bigint as submitted, sum(f.started)::bigint as started,
               sum(f.completed)::bigint as completed, sum(f.failed)::bigint as failed, sum(f.retried)::bigint as retried,
               sum(f.recovered)::bigint as recovered, sum(f.cancelled)::bigint as cancelled, sum(f.wait_s) as wait_s, sum(f.run_s) as run_s,
               sum(f.spend) as spend, lanework.sum_histogram(f.wait_hist) as wait_hist, lanework.sum_histogram(f.run_hist) as run_hist
        from found f
        where (p_lanes is null or f.lane = any (p_lanes)) and (p_types is null or f.type = any (p_types))
        group by f.at, f.lane, f.type
    ), errors as (
        select x.at, x.lane, x.type, jsonb_object_agg(x.error_class, x.failed) as failed_by
        from (
            select case when p_step is null then p_since else date_bin(p_step, e.minute, p_since) end as at,
                   coalesce(l.name, case when e.lane_id = 0 then t.lane end, '') as lane, coalesce(t.name, '') as type,
                   e.error_class, sum(e.failed)::bigint as failed
            from lanework.error_rollups e
            left join lanework.lanes l on l.id = e.lane_id
            left join lanework.job_types t on t.id = e.type_id
            where e.minute >= p_since and e.minute < p_until group by 1, 2, 3, 4) x
        where x.failed > 0 group by x.at, x.lane, x.type
    )
    select s.at, s.lane, s.type, s.submitted, s.started, s.completed, s.failed, s.retried, s.recovered, s.cancelled,
           s.wait_s, s.run_s, s.spend, s.wait_hist, s.run_hist, coalesce(e.failed_by, '{}')
    from sums s
    left join errors e on e.at = s.at and e.lane = s.lane and e.type = s.type
    order by s.at, 2, 3
$$;
