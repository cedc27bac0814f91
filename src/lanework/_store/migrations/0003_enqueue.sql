-- Submitting. The state a job starts in is decided here and nowhere else, whoever submits it.

-- A session's jobs are all stored as blocked, without any lock; `promote_sessions` lets the first of them go.
create function lanework.first_status(p_run_at timestamptz, p_session text, p_now timestamptz)
returns lanework.job_status language sql immutable parallel safe
return case when p_session is not null then 'blocked'::lanework.job_status when p_run_at > p_now then 'scheduled' else 'approved' end;

-- Whatever way rows come (`enqueue`, COPY, a parent, a redrive): they start in a state that a submit gives, within the limits that
-- `enqueue` explains in words, wait for an approval where they need one, and are told and counted. One look at them for all of it.
create function lanework.new_jobs() returns trigger
language plpgsql
set enable_seqscan = off
as $$
declare
    n record;
begin
    select count(*) as count, min(a.id) as low, max(a.id) as high, min(a.type_id) as type_id, max(a.type_id) as other_type,
           bool_or(a.status not in ('approved', 'scheduled', 'blocked') or (a.status = 'blocked') <> (a.session is not null)
               or a.status = 'approved' and a.run_at is not null or a.status = 'scheduled' and a.run_at is null
               or a.attempt <> 0 or a.tries_used <> 0 or a.claim_id is not null) as odd,
           bool_or(jsonb_typeof(a.payload) <> 'object' or pg_column_size(a.payload) > 524288) as unfit,
           bool_or(a.rank not between -1000 and 1000 or a.max_tries not between 1 and 100 or a.version < 1 or a.turn > 0) as beyond,
           exists (select from lanework.job_types t where t.approval <> 'never' or t.estimator is not null)
               or exists (select from lanework.approval_rules) as gated,
           exists (select from lanework.silent_kinds s where s.topic = 'job' and s.kind in ('submitted', '*')) as silent,
           coalesce(current_setting('lanework.moves', true), '') as moves
    into n from added a;
    if n.count = 0 then return null; end if;
    if n.odd and n.moves <> 'redrive' then -- dead letters on their way back are no new ones
        raise exception 'new jobs start as approved, as scheduled with a run_at, or as blocked with a session; nothing was stored'
            using errcode = 'LW300';
    elsif n.unfit then
        raise exception 'payload: expected JSON objects of at most 524288 bytes; nothing was stored' using errcode = 'LW300';
    elsif n.beyond then
        raise exception 'expected a rank from -1000 to 1000, 1 to 100 tries, a version from 1 on and no turn above 0; nothing was stored'
            using errcode = 'LW300';
    end if;
    if n.gated then
        perform lanework.gate(array(
            with kinds as materialized (select distinct a.type_id, a.owner from added a),
            gated as materialized (
                select k.type_id, k.owner from kinds k join lanework.job_types t on t.id = k.type_id
                cross join lateral lanework.approval_rule(k.type_id, k.owner) r
                where t.estimator is not null or r.policy <> 'never')
            select a.id from added a join gated g on g.type_id = a.type_id and g.owner is not distinct from a.owner order by a.id));
    end if;
    if n.moves <> '' then return null; end if; -- what an operator moves back is told of by whoever moves it
    if n.type_id = n.other_type then
        insert into lanework.rollups as r (minute, writer, lane_id, type_id, submitted)
        values (date_trunc('minute', lanework.now()), pg_backend_pid(), 0, n.type_id, n.count)
        on conflict (minute, writer, lane_id, type_id) do update set submitted = r.submitted + excluded.submitted;
    else
        insert into lanework.rollups as r (minute, writer, lane_id, type_id, submitted)
        select date_trunc('minute', lanework.now()), pg_backend_pid(), 0, a.type_id, count(*) from added a group by a.type_id
        on conflict (minute, writer, lane_id, type_id) do update set submitted = r.submitted + excluded.submitted;
    end if;
    if n.silent then
        return null;
    elsif n.count = 1 then
        insert into lanework.events (topic, kind, job_ids) values ('job', 'submitted', array[n.low]);
    elsif n.high - n.low + 1 = n.count then
        insert into lanework.events (topic, kind, job_range) values ('job', 'submitted', int8range(n.low, n.high, '[]'));
    else -- somebody took ids in between: in rows that a reader can bear
        insert into lanework.events (topic, kind, job_ids)
        select 'job', 'submitted', array_agg(x.id order by x.id)
        from (select a.id, (row_number() over (order by a.id) - 1) / 1000 as part from added a) x group by x.part order by x.part;
    end if;
    return null;
end $$;
create trigger new_jobs after insert on lanework.jobs
    referencing new table as added for each statement execute function lanework.new_jobs();

-- A hint to the workers of a lane.
-- Inside somebody's transaction only while the server's notification queue is far from full: a hint must not be able
-- to stop a commit.
create function lanework.hint(p_lane text) returns void
language plpgsql as $$
begin
    if pg_notification_queue_usage() < 0.25 then
        perform pg_notify('lanework', p_lane);
    end if;
end $$;

create function lanework.enqueue(
    type text,
    payload jsonb default '{}',
    priority int default null,
    run_at timestamptz default null,
    idempotency_key text default null,
    owner text default null,
    tags text[] default null,
    max_age interval default null,
    max_tries int default null,
    version int default 1,
    session text default null,
    continues bigint default null,
    from_step text default null,
    hint boolean default true
) returns bigint
language plpgsql as $$
#variable_conflict use_column
declare
    t lanework.job_types%rowtype;
    k lanework.keys%rowtype;
    v_now timestamptz := lanework.now();
    v_id bigint;
    v_hash bytea;
    v_status lanework.job_status;
begin
    select * into t from lanework.job_types j where j.name = enqueue.type;
    if not found then
        raise exception 'type: no job type is called %; declare it in code and start a worker, or check the name',
            coalesce(quote_literal(enqueue.type), 'null') using errcode = 'LW301';
    end if;
    if payload is null or jsonb_typeof(payload) <> 'object' then
        raise exception 'payload: expected a JSON object, got %', coalesce(jsonb_typeof(payload), 'null') using errcode = 'LW300';
    elsif octet_length(payload::text) > 262144 then
        raise exception 'payload: % bytes are over the limit of 262144; store the data elsewhere and pass its key',
            octet_length(payload::text) using errcode = 'LW300';
    elsif priority not between -1000 and 1000 then
        raise exception 'priority: expected -1000 to 1000, got %', priority using errcode = 'LW300';
    elsif max_tries not between 1 and 100 then
        raise exception 'max_tries: expected 1 to 100, got %', max_tries using errcode = 'LW300';
    elsif version not between 1 and 32767 then
        raise exception 'version: expected 1 to 32767, got %', version using errcode = 'LW300';
    elsif run_at is not null and run_at not between '2000-01-01Z' and '2200-01-01Z' then
        raise exception 'run_at: expected a moment between the years 2000 and 2200, got %', run_at using errcode = 'LW300';
    elsif max_age <= interval '0' or max_age > interval '100 years' then
        raise exception 'max_age: expected more than nothing and at most 100 years, got %', max_age using errcode = 'LW300';
    elsif length(owner) > 200 then
        raise exception 'owner: % characters are over the limit of 200', length(owner) using errcode = 'LW300';
    elsif length(session) not between 1 and 200 then
        raise exception 'session: expected 1 to 200 characters, got %', length(session) using errcode = 'LW300';
    elsif length(idempotency_key) not between 1 and 200 then
        raise exception 'idempotency_key: expected 1 to 200 characters, got %', length(idempotency_key) using errcode = 'LW300';
    elsif cardinality(tags) > 20 or length(array_to_string(tags, '')) > 2000 or array_position(tags, null) is not null then
        raise exception 'tags: expected at most 20 texts of at most 100 characters' using errcode = 'LW300';
    end if;

    v_id := nextval('lanework.job_ids');
    if idempotency_key is not null then
        v_hash := sha256(convert_to(enqueue.type || ' ' || version || ' ' || payload::text, 'UTF8'));
        -- waits for a concurrent submit of the same key, so that exactly one of the two makes the job
        insert into lanework.keys values (coalesce(enqueue.owner, ''), idempotency_key, v_hash, v_id, v_now)
        on conflict on constraint keys_pkey do nothing;
        if not found then
            select * into k from lanework.keys s where s.owner = coalesce(enqueue.owner, '') and s.key = idempotency_key for update;
            if not found then -- not visible to this transaction's snapshot
                raise exception 'idempotency_key: another transaction has just used it' using errcode = '40001';
            elsif lanework.key_expired(k.job_id, k.created_at, v_now) then
                update lanework.keys s set body_hash = v_hash, job_id = v_id, created_at = v_now
                where s.owner = k.owner and s.key = k.key;
            elsif k.body_hash <> v_hash then
                raise exception 'idempotency_key: % belongs to job %, which has another type or payload',
                    quote_literal(idempotency_key), k.job_id using errcode = 'LW302';
            else
                return k.job_id;
            end if;
        end if;
    end if;

    if continues is not null then -- before the job: an estimate finds them too
        perform lanework.inherit_steps(v_id, continues, from_step);
    end if;
    v_status := lanework.first_status(run_at, session, v_now);
    insert into lanework.jobs (
        id, created_at, run_at, deadline, status, type_id, lane_id, turn, rank, version, max_tries, owner, tags, payload, session,
        blocked_on, continues)
    values (
        v_id, v_now, case when run_at > v_now then run_at end,
        v_now + coalesce(max_age, make_interval(secs => t.max_age_s)),
        v_status, t.id, nullif(t.fair_lane, 0),
        case when t.fair_lane = 0 or v_status <> 'approved' then 0
            else lanework.next_turn(t.fair_lane, enqueue.owner, -coalesce(priority, t.priority)) end,
        -coalesce(priority, t.priority), version,
        coalesce(max_tries, t.max_tries), owner, tags, payload, session, case when session is not null then 'session' end, continues);
    if hint then
        perform lanework.hint(coalesce('@' || session, t.lane));
    end if;
    return v_id;
end $$;

-- A key is remembered for a while after its job has ended; the job itself may have left earlier.
create function lanework.key_expired(p_job bigint, p_since timestamptz, p_now timestamptz) returns boolean
language sql stable as $$
    select not exists (select from lanework.jobs where id = p_job)
       and p_now - coalesce(
               (select finished_at from lanework.jobs_done where id = p_job),
               (select finished_at from lanework.jobs_failed where id = p_job),
               p_since
           ) > (select keep from lanework.lifetimes where thing = 'keys')
$$;

-- A moment as COPY takes it in its binary format: microseconds since the year 2000.
create function lanework.ticks(p_at timestamptz) returns bigint
language sql stable parallel safe
return (extract(epoch from p_at) * 1000000)::bigint - 946684800000000;

-- Bulk submits reserve their ids first, so that their handles are known before the rows are copied. `ids` is null when they
-- follow each other from `first` on, as they do unless somebody submits at the same moment.
-- `turn` is the first one's place in a fair lane; each of the following has the next.
create function lanework.prepare_bulk(p_type text, p_count int, p_owner text default null, p_priority int default null)
returns table (
    first bigint, ids bigint[], type_id int, lane text, fair_lane int, turn int, priority smallint, max_tries smallint,
    max_age_s double precision, now timestamptz
)
language plpgsql as $$
#variable_conflict use_column
begin
    return query
        select r.low, case when r.high - r.low + 1 <> p_count then r.ids end, t.id, t.lane, t.fair_lane,
               case when t.fair_lane = 0 then 0 else lanework.next_turn(t.fair_lane, p_owner, -coalesce(p_priority, t.priority)) end,
               t.priority, t.max_tries, t.max_age_s, lanework.now()
        from lanework.job_types t
        cross join (
            select min(x) as low, max(x) as high, array_agg(x) as ids
            from (select nextval('lanework.job_ids') as x from generate_series(1, p_count)) s) r
        where t.name = p_type;
    if not found then
        raise exception 'type: no job type is called %; declare it in code and start a worker, or check the name',
            quote_literal(p_type) using errcode = 'LW301';
    end if;
end $$;
