-- Lanes and job types as rows that code seeds and operators own.

-- Code gives first values: it inserts what is missing and never changes what is there, except how its own types behave.
create function lanework.register(p_types jsonb, p_lanes jsonb) returns table (id int, name text, lane text)
language plpgsql volatile as $$
#variable_conflict use_column
begin
    -- one registration at a time: several processes start at once, and their rows come in any order
    perform pg_advisory_xact_lock(1279350094, 2);
    insert into lanework.lanes (name, max_slots, worker_slots, poll_interval_ms, stale_timeout_minutes, enabled, fair, set_by)
    select x.name, case when x.given ? 'max_slots' then (x.given ->> 'max_slots')::int else 1 end, (x.given ->> 'worker_slots')::int,
           coalesce((x.given ->> 'poll_interval_ms')::int, 5000), coalesce((x.given ->> 'stale_timeout_minutes')::int, 30),
           coalesce((x.given ->> 'enabled')::boolean, true), coalesce((x.given ->> 'fair')::boolean, false),
           coalesce(x.given ->> 'set_by', 'code')
    from jsonb_each(p_lanes) as x(name, given)
    on conflict do nothing;
    -- not for types that an operator has put elsewhere: a lane he removed stays removed
    insert into lanework.lanes (name)
    select distinct x ->> 'lane' from jsonb_array_elements(p_types) x
    where not exists (select from lanework.job_types t where t.name = x ->> 'name' and t.set_by <> 'code')
    on conflict do nothing;
    insert into lanework.job_types as t (
        name, lane, executor, priority, max_tries, timeout_s, max_age_s, stale_after_s, never_stale, reports_progress, concurrency,
        approval, approval_above, approval_currency, approval_expiry_s, four_eyes, estimator, estimates, permits, rate)
    select x.name, coalesce((select l.name from lanework.lanes l where l.name = x.lane), 'default'), x.executor, x.priority, x.max_tries, x.timeout_s, x.max_age_s, x.stale_after_s, coalesce(x.never_stale, false),
           coalesce(x.reports_progress, false), x.concurrency,
           coalesce(x.approval, 'never'), x.approval_above, coalesce(x.approval_currency, 'USD'), coalesce(x.approval_expiry_s, 86400),
           coalesce(x.four_eyes, false), x.estimator, x.estimates, coalesce(x.permits, '{}'), x.rate
    from jsonb_to_recordset(p_types) as x(
        name text, lane text, executor text, priority smallint, max_tries smallint, timeout_s float8, max_age_s float8,
        stale_after_s float8, never_stale boolean, reports_progress boolean, concurrency int,
        approval text, approval_above numeric, approval_currency text, approval_expiry_s float8, four_eyes boolean, estimator text, estimates text,
        permits text[], rate text)
    order by x.name
    on conflict (name) do update
    set executor = excluded.executor, timeout_s = excluded.timeout_s, stale_after_s = excluded.stale_after_s,
        never_stale = excluded.never_stale, reports_progress = excluded.reports_progress, max_age_s = excluded.max_age_s,
        priority = excluded.priority, max_tries = excluded.max_tries, permits = excluded.permits, rate = excluded.rate,
        approval = excluded.approval, approval_above = excluded.approval_above, approval_currency = excluded.approval_currency,
        approval_expiry_s = excluded.approval_expiry_s, four_eyes = excluded.four_eyes, estimator = excluded.estimator, estimates = excluded.estimates,
        concurrency = case when t.set_by = 'code' then excluded.concurrency else t.concurrency end,
        lane = case when t.set_by = 'code' then excluded.lane else t.lane end
    where (t.executor, t.timeout_s, t.stale_after_s, t.never_stale, t.reports_progress, t.max_age_s, t.priority, t.max_tries, t.permits, t.rate)
          is distinct from (excluded.executor, excluded.timeout_s, excluded.stale_after_s, excluded.never_stale,
                            excluded.reports_progress, excluded.max_age_s, excluded.priority, excluded.max_tries,
                            excluded.permits, excluded.rate)
       or (t.approval, t.approval_above, t.approval_currency, t.approval_expiry_s, t.four_eyes, t.estimator, t.estimates)
          is distinct from (excluded.approval, excluded.approval_above, excluded.approval_currency, excluded.approval_expiry_s,
                            excluded.four_eyes, excluded.estimator, excluded.estimates)
       or t.set_by = 'code' and (t.concurrency, t.lane) is distinct from (excluded.concurrency, excluded.lane);
    perform lanework.align_turns();
    return query
        select t.id, t.name, t.lane from lanework.job_types t
        where t.name in (select x ->> 'name' from jsonb_array_elements(p_types) x);
end $$;

-- Creates (p_create) or changes a lane under its lock: no claim uses an old cap after this has answered. Answers the row
-- before and after.
create function lanework.set_lane(p_name text, p_changes jsonb, p_by text, p_create boolean)
returns table (before jsonb, after jsonb)
language plpgsql volatile set lock_timeout = '5s' as $$
#variable_conflict use_column
declare
    v_before jsonb;
    v_lane lanework.lanes%rowtype;
    v_type text;
begin
    if p_create then
        insert into lanework.lanes (name, set_by) values (p_name, p_by) on conflict do nothing;
        -- a lane that is there only because code has named it was nobody's decision yet
        if not found and exists (select from lanework.lanes l where l.name = p_name and l.set_by not in ('code', 'environment')) then
            raise exception 'name: there is a lane % already; change it instead', quote_literal(p_name) using errcode = 'LW320';
        end if;
    else
        v_before := (select to_jsonb(l) - 'id' from lanework.worker_lanes l where l.name = p_name);
    end if;
    select * into v_lane from lanework.lanes l where l.name = p_name;
    if not found then
        raise exception 'there is no lane %', quote_literal(p_name) using errcode = 'LW321';
    end if;
    -- a type that moves is counted in both lanes; all locks in one order
    perform lanework.lane_lock(x.id) from (
        select l.id from lanework.lanes l
        where l.id = v_lane.id
           or l.name in (
               select t.lane from lanework.job_types t
               where t.name in (select jsonb_array_elements_text(coalesce(p_changes -> 'job_types', '[]'))))
        order by l.id) x;
    update lanework.lanes l
    set max_slots = case when p_changes ? 'max_slots' then (p_changes ->> 'max_slots')::int else l.max_slots end,
        worker_slots = case when p_changes ? 'worker_slots' then (p_changes ->> 'worker_slots')::int else l.worker_slots end,
        poll_interval_ms = coalesce((p_changes ->> 'poll_interval_ms')::int, l.poll_interval_ms),
        stale_timeout_minutes = coalesce((p_changes ->> 'stale_timeout_minutes')::int, l.stale_timeout_minutes),
        enabled = coalesce((p_changes ->> 'enabled')::boolean, l.enabled),
        fair = coalesce((p_changes ->> 'fair')::boolean, l.fair),
        set_by = p_by, updated_at = lanework.now()
    where l.name = p_name;
    if p_changes ? 'job_types' then
        for v_type in select distinct jsonb_array_elements_text(p_changes -> 'job_types') order by 1 loop
            update lanework.job_types t set lane = p_name, set_by = p_by where t.name = v_type;
            if not found then
                raise exception 'job_types: no job type is called %', quote_literal(v_type) using errcode = 'LW320';
            end if;
        end loop;
        -- a type that is taken out of its lane goes to the default one
        update lanework.job_types t set lane = 'default', set_by = p_by
        where t.lane = p_name and p_name <> 'default' and not p_changes -> 'job_types' ? t.name;
    end if;
    perform lanework.align_turns();
    perform lanework.hint(p_name);
    perform lanework.audit(p_by, case when p_create then 'lane.add' else 'lane.set' end, 'lane:' || p_name, v_before,
                           (select to_jsonb(l) - 'id' from lanework.worker_lanes l where l.name = p_name));
    return query select v_before, to_jsonb(l) - 'id' from lanework.worker_lanes l where l.name = p_name;
end $$;

-- Removes a lane. Its types, and so their waiting jobs, go to p_move_to; running jobs finish.
create function lanework.remove_lane(p_name text, p_move_to text, p_by text) returns void
language plpgsql volatile as $$
declare
    v_types text[] := array(select t.name from lanework.job_types t where t.lane = p_name order by t.name);
begin
    if not exists (select from lanework.lanes l where l.name = p_name) then
        raise exception 'there is no lane %', quote_literal(p_name) using errcode = 'LW321';
    elsif p_name = 'default' then
        raise exception 'the lane ''default'' takes the types that have no other lane; it cannot be removed' using errcode = 'LW322';
    elsif v_types <> '{}' and p_move_to is null then
        raise exception 'lane % has job types (%); say which lane takes them', quote_literal(p_name), array_to_string(v_types, ', ')
            using errcode = 'LW322';
    elsif p_move_to is not null and not exists (select from lanework.lanes l where l.name = p_move_to and l.name <> p_name) then
        raise exception 'move_to: there is no other lane %', quote_literal(p_move_to) using errcode = 'LW321';
    end if;
    perform lanework.lane_lock(x.id) from (select l.id from lanework.lanes l where l.name in (p_name, p_move_to) order by l.id) x;
    perform lanework.audit(p_by, 'lane.remove', 'lane:' || p_name,
                           (select to_jsonb(l) - 'id' from lanework.worker_lanes l where l.name = p_name),
                           jsonb_build_object('move_to', p_move_to));
    update lanework.job_types t set lane = p_move_to, set_by = p_by where t.lane = p_name;
    delete from lanework.lanes l where l.name = p_name;
    if p_move_to is not null then
        perform lanework.align_turns();
        perform lanework.hint(p_move_to);
    end if;
end $$;
