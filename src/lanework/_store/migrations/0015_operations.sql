-- What operators do while jobs run: acts on one job, acts on all jobs that match a filter, drains and freezes. Each act has its
-- audit row in its own transaction.

-- An act by filter is a row. It concerns the jobs that there were when it began (`cutoff`), goes through them in the order of
-- their ids, some a commit (`position`), and whoever comes next carries it on.
create table lanework.operations (
    id bigint generated always as identity primary key,
    kind text not null,
    filter jsonb not null,
    args jsonb not null,
    by text not null,
    reason text not null,
    cutoff bigint not null,
    position bigint not null default 0,
    matched bigint not null,
    done bigint not null default 0,
    skipped bigint not null default 0,
    state text not null default 'running' check (state in ('running', 'done', 'stopped', 'failed')),
    error text,
    created_at timestamptz not null default lanework.now(),
    ended_at timestamptz
);
create index operations_running on lanework.operations (id) where state = 'running';
insert into lanework.lifetimes values ('operations', '90 days', 'acts by filter, after they have ended');

-- A row here: nothing starts anywhere. Lanes keep their own settings meanwhile.
create table lanework.drains (
    one boolean primary key default true check (one),
    by text not null,
    reason text not null,
    at timestamptz not null default lanework.now()
);

-- A lane runs if it is enabled and nobody holds it. A hold belongs to a run of a job and ends with it, whatever ends it; or to an
-- operator, and ends at `until`. All lanes of one freeze have its number.
create sequence lanework.freeze_ids;
create table lanework.freezes (
    id bigint not null,
    lane text not null references lanework.lanes (name) on update cascade on delete cascade,
    job_id bigint,
    claim_id uuid,
    by text not null,
    reason text not null,
    since timestamptz not null default lanework.now(),
    until timestamptz,
    primary key (lane, id),
    check ((job_id is null) = (claim_id is null) and (job_id is null) = (until is not null))
);

-- Which jobs -----------------------------------------------------------------------------------------------------------

create function lanework.check_filter(p_filter jsonb) returns void
language plpgsql immutable as $$
declare
    v_field text;
    v_value jsonb;
begin
    if p_filter is null or jsonb_typeof(p_filter) <> 'object' then
        raise exception 'filter: expected a JSON object, got %', coalesce(p_filter::text, 'null') using errcode = 'LW500';
    end if;
    for v_field, v_value in select * from jsonb_each(p_filter) loop
        if v_field not in ('status', 'type', 'lane', 'owner', 'tag', 'error_class', 'created_after', 'created_before', 'ids') then
            raise exception 'filter: there is no field %; there are status, type, lane, owner, tag, error_class, created_after, created_before and ids',
                quote_literal(v_field) using errcode = 'LW500';
        elsif v_field in ('status', 'type', 'lane', 'ids') and (
            jsonb_typeof(v_value) <> 'array' or jsonb_path_exists(v_value, case v_field
                when 'ids' then '$[*] ? (@.type() != "number")' else '$[*] ? (@.type() != "string")' end::jsonpath)) then
            raise exception '%: expected a list, got %', v_field, v_value using errcode = 'LW500';
        elsif v_field not in ('status', 'type', 'lane', 'ids') and jsonb_typeof(v_value) <> 'string' then
            raise exception '%: expected a text, got %', v_field, v_value using errcode = 'LW500';
        elsif v_field = 'status' and exists (
            select from jsonb_array_elements_text(v_value) s
            where s not in (select unnest(enum_range(null::lanework.job_status))::text)) then
            raise exception 'status: expected some of %, got %',
                array_to_string(enum_range(null::lanework.job_status), ', '), v_value using errcode = 'LW500';
        end if;
    end loop;
end $$;

-- The first p_limit ids, in their order, of jobs that match, above p_after and up to p_upto. Written for what is asked: each
-- table that can have such jobs is walked by its key, and only the conditions that are given are looked at.
create function lanework.matching(p_filter jsonb, p_after bigint, p_upto bigint, p_limit int) returns setof bigint
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_status text[] := (select array_agg(s) from jsonb_array_elements_text(p_filter -> 'status') s);
    v_lane text[] := (select coalesce(array_agg(s), '{}') from jsonb_array_elements_text(p_filter -> 'lane') s);
    v_where text := 'j.id > $1 and j.id <= $2';
    v_parts text[] := '{}';
    v_table text;
begin
    perform lanework.check_filter(p_filter);
    v_where := v_where
        || case when p_filter ? 'status' then ' and j.status = any ($4)' else '' end
        || case when p_filter ? 'type' then ' and j.type_id = any ($5)' else '' end
        -- a job that waits is in its type's lane, one that runs or has run is where it was claimed
        || case when p_filter ? 'lane' then ' and case when j.status in (''running'', ''completed'', ''failed'', ''cancelled'') and j.lane_id is not null
                                             then j.lane_id = any ($6) else j.type_id = any ($7) end' else '' end
        || case when p_filter ? 'owner' then ' and j.owner = $8' else '' end
        || case when p_filter ? 'tag' then ' and $9 = any (j.tags)' else '' end
        || case when p_filter ? 'created_after' then ' and j.created_at > $10' else '' end
        || case when p_filter ? 'created_before' then ' and j.created_at < $11' else '' end
        || case when p_filter ? 'ids' then ' and j.id = any ($12)' else '' end;
    foreach v_table in array array['jobs', 'jobs_done', 'jobs_failed'] loop
        continue when v_status is not null and not case v_table
            when 'jobs_done' then v_status && '{completed,cancelled}' when 'jobs_failed' then 'failed' = any (v_status)
            else v_status && '{pending,awaiting_approval,scheduled,blocked,approved,running}' end;
        continue when p_filter ? 'error_class' and v_table <> 'jobs_failed';
        v_parts := v_parts || format('(select j.id from lanework.%I j where %s%s order by j.id limit $3)', v_table, v_where,
                                     case when p_filter ? 'error_class' then ' and j.error_class = $13' else '' end);
    end loop;
    if v_parts = '{}' or p_filter ? 'status' and v_status is null then return; end if;
    return query execute format('select x.id from (%s) x order by x.id limit $3', array_to_string(v_parts, ' union all '))
        using p_after, p_upto, p_limit, v_status::lanework.job_status[],
            array(select t.id from lanework.job_types t where p_filter -> 'type' ? t.name),
            array(select l.id from lanework.lanes l where l.name = any (v_lane)),
            array(select t.id from lanework.job_types t where t.lane = any (v_lane)),
            p_filter ->> 'owner', p_filter ->> 'tag', (p_filter ->> 'created_after')::timestamptz,
            (p_filter ->> 'created_before')::timestamptz,
            array(select (i #>> '{}')::bigint from jsonb_array_elements(p_filter -> 'ids') i), p_filter ->> 'error_class';
end $$;

-- The filter with the states that an act is for: those that it names, and else all of them.
create function lanework.filter_for(p_kind text, p_filter jsonb) returns jsonb
language plpgsql stable as $$
declare
    v_for jsonb := case p_kind
        when 'cancel' then '["pending", "awaiting_approval", "scheduled", "blocked", "approved", "running"]'
        when 'priority' then '["pending", "awaiting_approval", "scheduled", "blocked", "approved"]'
        when 'approve' then '["awaiting_approval"]' when 'reject' then '["awaiting_approval"]'
        when 'retry' then '["failed"]' when 'archive' then '["failed"]' end;
begin
    perform lanework.check_filter(p_filter);
    if v_for is null or to_regprocedure(format('lanework.carry_%s(bigint[], jsonb, text, bigint)', p_kind)) is null then
        raise exception 'kind: there is no act % on many jobs', quote_literal(p_kind) using errcode = 'LW500';
    elsif p_filter = '{}' then
        raise exception 'filter: it is empty and would concern every job; say which, for example by lane or type' using errcode = 'LW500';
    end if;
    return p_filter || jsonb_build_object('status', (
        select coalesce(jsonb_agg(s), '[]') from jsonb_array_elements(v_for) s
        where not p_filter ? 'status' or p_filter -> 'status' @> s));
end $$;

-- How many jobs an act would concern; counts no further than p_most.
create function lanework.count_matching(p_kind text, p_filter jsonb, p_most int default 1000000) returns bigint
language sql stable as $$
    select count(*) from lanework.matching(lanework.filter_for(p_kind, p_filter), 0, 9223372036854775807, p_most)
$$;

-- Acts on many jobs ----------------------------------------------------------------------------------------------------

-- Begins an act on all jobs that match now. Answers its number; `carry_operations` does it.
create function lanework.start_operation(p_kind text, p_filter jsonb, p_args jsonb, p_by text, p_reason text default '') returns bigint
language plpgsql volatile as $$
declare
    v_filter jsonb := lanework.filter_for(p_kind, p_filter);
    v_row lanework.operations%rowtype;
begin
    if p_kind = 'priority' then
        perform lanework.check_priority((p_args ->> 'priority')::int);
    end if;
    insert into lanework.operations (kind, filter, args, by, reason, cutoff, matched)
    values (p_kind, v_filter, coalesce(p_args, '{}'), p_by, p_reason, (select last_value from lanework.job_ids),
            lanework.count_matching(p_kind, p_filter))
    returning * into v_row;
    perform lanework.audit(p_by, 'operation.start', 'operation:' || v_row.id, null, jsonb_build_object(
        'kind', p_kind, 'filter', v_filter, 'args', v_row.args, 'reason', p_reason, 'matched', v_row.matched));
    return v_row.id;
end $$;

-- Ends an act before it is through; what it has done stays done. Answers its state.
create function lanework.stop_operation(p_id bigint, p_by text) returns text
language plpgsql volatile as $$
declare
    v_row lanework.operations%rowtype;
begin
    select * into v_row from lanework.operations o where o.id = p_id for update;
    if not found then
        raise exception 'there is no operation %', p_id using errcode = 'LW501';
    elsif v_row.state <> 'running' then
        return v_row.state;
    end if;
    update lanework.operations o set state = 'stopped', ended_at = lanework.now() where o.id = p_id;
    perform lanework.audit(p_by, 'operation.stop', 'operation:' || p_id, jsonb_build_object('state', 'running'),
                           jsonb_build_object('state', 'stopped', 'done', v_row.done, 'matched', v_row.matched));
    return 'stopped';
end $$;

-- The next jobs of each act that runs (or of one): one small commit. Answers whether any is left. Any number of carriers: who
-- finds an act taken leaves it to the other.
create function lanework.carry_operations(p_only bigint default null) returns boolean
language plpgsql volatile as $$
declare
    v_row lanework.operations%rowtype;
begin
    for v_row in
        select * from lanework.operations o where o.state = 'running' and (p_only is null or o.id = p_only)
        order by o.id limit 4 for update skip locked
    loop
        begin
            perform lanework.carry_operation(v_row);
        exception
            when deadlock_detected or serialization_failure or lock_not_available then
                null; -- the next round tries again
            when others then
                update lanework.operations o set state = 'failed', error = sqlerrm, ended_at = lanework.now() where o.id = v_row.id;
        end;
    end loop;
    return exists (select from lanework.operations o where o.state = 'running' and (p_only is null or o.id = p_only));
end $$;

-- 1,000 jobs, found among the next 20,000: a filter that few jobs match does not make this one long.
create function lanework.carry_operation(p_row lanework.operations) returns void
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_upto bigint := p_row.cutoff;
    v_ids bigint[];
    v_count int;
    v_place bigint;
    v_through boolean;
begin
    if not p_row.filter ? 'ids' then
        v_upto := least(v_upto, (
            select min(x.id) from (
                (select j.id from lanework.jobs j where j.id > p_row.position order by j.id offset 20000 limit 1)
                union all
                (select f.id from lanework.jobs_failed f where f.id > p_row.position order by f.id offset 20000 limit 1)) x));
    end if;
    v_ids := array(select lanework.matching(p_row.filter, p_row.position, v_upto, 1000));
    v_place := case when cardinality(v_ids) = 1000 then v_ids[1000] else v_upto end;
    v_through := v_place >= p_row.cutoff;
    if v_ids <> '{}' then
        execute format('select lanework.carry_%s($1, $2, $3, $4)', p_row.kind) into v_count
            using v_ids, p_row.args || jsonb_build_object('reason', p_row.reason), p_row."by", p_row.id;
    end if;
    update lanework.operations o
    set position = v_place, done = o.done + coalesce(v_count, 0), skipped = o.skipped + cardinality(v_ids) - coalesce(v_count, 0),
        state = case when v_through then 'done' else o.state end, ended_at = case when v_through then lanework.now() end
    where o.id = p_row.id;
    if v_through then
        perform lanework.tell('operation', p_row.kind || '.done', null, jsonb_build_object(
            'operation', p_row.id, 'done', p_row.done + coalesce(v_count, 0)));
    end if;
end $$;

create function lanework.prune_operations(p_limit int) returns void
language sql volatile as $$
    delete from lanework.operations o where o.id in (
        select x.id from lanework.operations x
        where x.state <> 'running' and x.ended_at < lanework.now() - lanework.keep('operations') limit p_limit)
$$;

-- Cancels: those that wait end here; those that run, or that somebody has in his hands at this moment, are asked to.
create function lanework.carry_cancel(p_ids bigint[], p_args jsonb, p_by text, p_operation bigint) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
    v_now timestamptz := lanework.now();
    v_reason text := coalesce(p_args ->> 'reason', '');
    v_children boolean := coalesce((p_args ->> 'children')::boolean, true);
    v_gone bigint[];
    v_asked int;
begin
    with held as materialized (
        select x.id from unnest(p_ids) as u(id)
        cross join lateral (
            select j.id from lanework.jobs j where j.id = u.id and j.status <> 'running' offset 0 for no key update skip locked) x
        order by u.id
    ), gone as (
        delete from lanework.jobs j where j.id = any (array(select h.id from held h)) returning j.*
    ), kept as (
        insert into lanework.jobs_done (
            id, created_at, run_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id,
            rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, tags, payload, finished_at, reason)
        select g.id, g.created_at, g.run_at, g.deadline, g.claimed_at, g.worker_id, g.parent, g.continues, g.claim_id, 'cancelled', g.type_id,
               g.attempt, g.lane_id, g.rank, g.version, g.max_tries, g.tries_used, g.losses, g.depth, g.suspect, g.owner, g.session,
               g.tags, g.payload, v_now, v_reason
        from gone g returning id
    )
    select coalesce(array_agg(k.id), '{}') into v_gone from kept k;
    insert into lanework.stops (job_id, kind, asked_at, asked_by, reason, children)
    select u.id, 'cancel', v_now, p_by, v_reason, v_children from unnest(p_ids) as u(id)
    where exists (select from lanework.jobs j where j.id = u.id offset 0) or not v_children and u.id = any (v_gone)
    order by u.id
    on conflict (job_id) do update
    set kind = 'cancel', asked_by = excluded.asked_by, reason = excluded.reason, children = excluded.children;
    if v_gone <> '{}' then
        perform lanework.freed(v_gone);
        delete from lanework.stops s where s.job_id = any (v_gone);
    end if;
    select count(*) into v_asked from unnest(p_ids) as u(id) where exists (select from lanework.stops s where s.job_id = u.id);
    if v_asked > 0 then
        perform lanework.hint('!');
    end if;
    return cardinality(v_gone) + v_asked;
end $$;

-- Priority -------------------------------------------------------------------------------------------------------------

create function lanework.check_priority(p_priority int) returns void
language plpgsql immutable as $$
begin
    if p_priority is null or p_priority not between -1000 and 1000 then
        raise exception 'priority: expected -1000 to 1000, got %', coalesce(p_priority::text, 'null') using errcode = 'LW300';
    end if;
end $$;

-- A hint that rows have appeared in a lane before what its workers have claimed last: they look from the top again.
create function lanework.hint_behind(p_lane text) returns void
language sql volatile as $$ select lanework.hint('<' || p_lane) $$;

-- Answers the priority that the job had.
create function lanework.set_priority(p_id bigint, p_priority int, p_by text) returns int
language plpgsql volatile as $$
declare
    j record;
    v_final text;
begin
    perform lanework.check_priority(p_priority);
    select x.status::text, -x.rank as priority, t.lane into j
    from lanework.jobs x join lanework.job_types t on t.id = x.type_id where x.id = p_id for no key update of x;
    if not found then
        select x.status::text into v_final from lanework.all_jobs x where x.id = p_id;
        if not found then
            raise exception 'there is no job %', p_id using errcode = 'LW310';
        end if;
        raise exception 'job % is already %; its priority changes nothing any more', p_id, v_final using errcode = 'LW502';
    elsif j.status = 'running' then
        raise exception 'job % is running; only a job that waits has a place in the queue', p_id using errcode = 'LW502';
    end if;
    update lanework.jobs x set rank = -p_priority where x.id = p_id and x.rank <> -p_priority;
    if p_priority > j.priority then -- in a fair lane, across owners
        perform lanework.front_turns(array[p_id]);
    end if;
    perform lanework.hint_behind(j.lane);
    perform lanework.audit(p_by, 'job.priority', 'job:' || p_id, jsonb_build_object('priority', j.priority, 'status', j.status),
                           jsonb_build_object('priority', p_priority));
    return j.priority;
end $$;

create function lanework.carry_priority(p_ids bigint[], p_args jsonb, p_by text, p_operation bigint) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set lock_timeout = '1s'
as $$
declare
    v_held bigint[];
begin
    begin -- a claim or a promotion is soon over; a row that somebody holds for long is left out
        v_held := array(
            select x.id from (select u.id from unnest(p_ids) as u(id) order by u.id) u
            cross join lateral (
                select j.id from lanework.jobs j where j.id = u.id and j.status <> 'running' offset 0 for no key update) x);
    exception when lock_not_available then
        v_held := array(
            select x.id from (select u.id from unnest(p_ids) as u(id) order by u.id) u
            cross join lateral (
                select j.id from lanework.jobs j where j.id = u.id and j.status <> 'running' offset 0 for no key update skip locked) x);
    end;
    perform lanework.front_turns(array(
        select j.id from lanework.jobs j where j.id = any (v_held) and j.rank > -(p_args ->> 'priority')::int));
    update lanework.jobs j set rank = -(p_args ->> 'priority')::int
    where j.id = any (v_held) and j.rank <> -(p_args ->> 'priority')::int;
    perform lanework.hint_behind(l.lane) from (
        select distinct t.lane from lanework.job_types t
        where t.id in (select j.type_id from lanework.jobs j where j.id = any (v_held) offset 0)) l;
    return cardinality(v_held);
end $$;

-- Cancel, by an operator -----------------------------------------------------------------------------------------------

-- Answers 'cancelled', 'stopping', or the final state that came first; null if there is no such job. p_children: those that
-- it has submitted are cancelled, too.
create function lanework.cancel(p_id bigint, p_by text default '', p_reason text default '', p_children boolean default true) returns text
language plpgsql volatile as $$
declare
    v_before text := (select j.status::text from lanework.jobs j where j.id = p_id);
    v_answer text := lanework.stop_job(p_id, p_by, p_reason, p_children);
begin
    if v_before is not null and v_answer in ('cancelled', 'stopping') then
        perform lanework.audit(p_by, 'job.cancel', 'job:' || p_id, jsonb_build_object('status', v_before),
                               jsonb_build_object('status', v_answer, 'reason', p_reason, 'children', p_children));
    end if;
    return v_answer;
end $$;

-- Drain and resume -----------------------------------------------------------------------------------------------------

-- A worker claims nothing more; what it runs goes on. Waits for a claim of it that is under way. Answers its state.
create function lanework.drain_worker(p_worker bigint, p_by text) returns text
language plpgsql volatile set lock_timeout = '5s' as $$
declare
    v_state text := lanework.steered_worker(p_worker, 'draining');
begin
    if v_state = 'active' then
        update lanework.workers w set state = 'draining', drained_by = coalesce(nullif(p_by, ''), 'unknown') where w.id = p_worker;
        perform lanework.audit(p_by, 'worker.drain', 'worker:' || p_worker, jsonb_build_object('state', v_state),
                               jsonb_build_object('state', 'draining'));
    end if;
    return 'draining';
end $$;

create function lanework.resume_worker(p_worker bigint, p_by text) returns text
language plpgsql volatile set lock_timeout = '5s' as $$
declare
    v_state text := lanework.steered_worker(p_worker, 'active');
begin
    if v_state = 'draining' then
        update lanework.workers w set state = 'active', drained_by = null where w.id = p_worker;
        perform lanework.audit(p_by, 'worker.resume', 'worker:' || p_worker, jsonb_build_object('state', v_state),
                               jsonb_build_object('state', 'active'));
        perform lanework.hint(l.name) from lanework.lanes l, lanework.workers w
        where w.id = p_worker and (w.lanes = '{}' or l.name = any (w.lanes));
    end if;
    return 'active';
end $$;

-- Locks the row of a worker that can be steered, and answers its state.
create function lanework.steered_worker(p_worker bigint, p_to text) returns text
language plpgsql volatile as $$
declare
    w lanework.workers%rowtype;
begin
    select * into w from lanework.workers x where x.id = p_worker for update;
    if not found then
        raise exception 'there is no worker %', p_worker using errcode = 'LW503';
    elsif w.state in ('stopped', 'dead') then
        raise exception 'worker % has ended (%)', p_worker, coalesce(w.ended_because, w.state) using errcode = 'LW504';
    elsif w.state = 'draining' and w.drained_by is null and p_to = 'active' then
        raise exception 'worker % is stopping by itself; start another one', p_worker using errcode = 'LW504';
    end if;
    return w.state;
end $$;

-- Nothing starts anywhere after this has answered; running jobs finish. Answers false if it was so already.
create function lanework.drain_all(p_by text, p_reason text default '') returns boolean
language plpgsql volatile set lock_timeout = '5s' as $$
begin
    insert into lanework.drains (by, reason) values (coalesce(nullif(p_by, ''), 'unknown'), p_reason) on conflict do nothing;
    if not found then return false; end if;
    -- every claim that has begun without knowing is over when this has all the lanes
    perform lanework.lane_lock(x.id) from (select l.id from lanework.lanes l order by l.id) x;
    perform lanework.audit(p_by, 'everything.drain', 'everything', null, jsonb_build_object('reason', p_reason));
    return true;
end $$;

create function lanework.resume_all(p_by text) returns boolean
language plpgsql volatile as $$
declare
    v_before jsonb;
begin
    delete from lanework.drains d returning to_jsonb(d) - 'one' into v_before;
    if v_before is null then return false; end if;
    perform lanework.audit(p_by, 'everything.resume', 'everything', v_before, null);
    perform lanework.hint(l.name) from lanework.lanes l;
    return true;
end $$;

-- Freeze ---------------------------------------------------------------------------------------------------------------

create function lanework.holds(p_freeze lanework.freezes) returns boolean
language plpgsql volatile as $$
begin
    return coalesce(p_freeze.until > lanework.now(), exists (
        select from lanework.jobs j where j.id = p_freeze.job_id and j.claim_id = p_freeze.claim_id and j.status = 'running' offset 0));
end $$;

-- Who keeps a lane from starting jobs, besides its own settings. (A claim asks the same of `free_slots`.)
create function lanework.held_by(p_lane text) returns text[]
language sql volatile as $$
    select array(
        select 'everything is drained by ' || d.by from lanework.drains d
        union all
        select format('freeze %s by %s', f.id, f.by) from lanework.freezes f where f.lane = p_lane and lanework.holds(f))
$$;

-- An operator's hold on lanes, for a time. Answers its number.
create function lanework.freeze(p_lanes text[], p_by text, p_reason text, p_seconds double precision) returns bigint
language plpgsql volatile as $$
begin
    if p_seconds is null or not p_seconds between 1 and 604800 then
        raise exception 'expires: expected 1 s to 7 days, got % s', coalesce(p_seconds::text, 'null') using errcode = 'LW505';
    end if;
    return lanework.hold_lanes(p_lanes, null, null, coalesce(nullif(p_by, ''), 'unknown'), p_reason, lanework.now() + make_interval(secs => p_seconds));
end $$;

-- A hold that ends with this run of this job.
create function lanework.freeze_for(p_id bigint, p_attempt int, p_claim uuid, p_lanes text[], p_reason text) returns bigint
language plpgsql volatile as $$
begin
    perform lanework.held(array[p_id], array[p_attempt], array[p_claim]);
    if not found then
        raise exception 'job %: attempt % was superseded; no lane was frozen', p_id, p_attempt using errcode = 'LW400';
    end if;
    return lanework.hold_lanes(p_lanes, p_id, p_claim, 'job:' || p_id, p_reason, null);
end $$;

create function lanework.hold_lanes(p_lanes text[], p_job bigint, p_claim uuid, p_owner text, p_reason text, p_until timestamptz) returns bigint
language plpgsql volatile set lock_timeout = '5s' as $$
declare
    v_id bigint := nextval('lanework.freeze_ids');
    v_missing text := (select n from unnest(p_lanes) n where not exists (select from lanework.lanes l where l.name = n) limit 1);
    v_other bigint;
begin
    if coalesce(cardinality(p_lanes), 0) = 0 then
        raise exception 'lanes: name at least one' using errcode = 'LW505';
    elsif v_missing is not null then
        raise exception 'there is no lane %', quote_literal(v_missing) using errcode = 'LW321';
    end if;
    -- one at a time, so that of two jobs that would wait for each other the second one is told
    perform pg_advisory_xact_lock(1279350094, 5);
    select j.id into v_other
    from lanework.freezes f
    cross join lateral (
        select j.id, j.lane_id from lanework.jobs j
        where j.id = f.job_id and j.id <> p_job and j.claim_id = f.claim_id and j.status = 'running' offset 0) j
    join lanework.lanes l on l.id = j.lane_id and l.name = any (p_lanes)
    where f.lane = (select m.name from lanework.jobs me join lanework.lanes m on m.id = me.lane_id where me.id = p_job) limit 1;
    if v_other is not null then
        raise exception 'job % has frozen the lane of job %, and runs in a lane that this one would freeze: they would wait for each other',
            v_other, p_job using errcode = 'LW506';
    end if;
    perform lanework.lane_lock(x.id) from (select l.id from lanework.lanes l where l.name = any (p_lanes) order by l.id) x;
    insert into lanework.freezes (id, lane, job_id, claim_id, by, reason, until)
    select v_id, n, p_job, p_claim, p_owner, p_reason, p_until from (select distinct n from unnest(p_lanes) n order by n) x;
    perform lanework.audit(p_owner, 'lanes.freeze', 'freeze:' || v_id, null,
                           jsonb_build_object('lanes', p_lanes, 'reason', p_reason, 'until', p_until));
    return v_id;
end $$;

-- Ends a freeze: each lane is as its own settings say, which nobody has touched.
create function lanework.thaw(p_freeze bigint, p_by text) returns text[]
language plpgsql volatile as $$
declare
    v_lanes text[];
begin
    with gone as (delete from lanework.freezes f where f.id = p_freeze returning f.lane)
    select array_agg(g.lane order by g.lane) into v_lanes from gone g;
    if v_lanes is null then
        raise exception 'there is no freeze % (any more)', p_freeze using errcode = 'LW507';
    end if;
    perform lanework.audit(p_by, 'lanes.thaw', 'freeze:' || p_freeze, jsonb_build_object('lanes', v_lanes), null);
    perform lanework.hint(n) from unnest(v_lanes) n;
    return v_lanes;
end $$;

-- Removes holds whose owner is gone. They hold nothing any more; the hint makes the lanes' workers look at once.
create function lanework.end_freezes() returns void
language plpgsql volatile as $$
declare
    v_lanes text[];
begin
    if not exists (select from lanework.freezes) then return; end if;
    with gone as (
        delete from lanework.freezes f where (f.lane, f.id) in (
            select x.lane, x.id from lanework.freezes x where not lanework.holds(x) for update skip locked) returning f.lane, f.id)
    select array_agg(distinct g.lane) into v_lanes from gone g;
    perform lanework.hint(n) from unnest(v_lanes) n;
end $$;

-- Lanes in which anything still runs, bodies that are fenced and have not ended included; not the job that asks.
create function lanework.busy_lanes(p_lanes text[], p_job bigint) returns table (lane text, used int)
language sql volatile as $$
    select * from (
        select l.name, coalesce((select sum(u.used) from lanework.lane_use u where u.lane_id = l.id), 0)::int - (
            select count(*) from lanework.jobs j where j.id = p_job and j.status = 'running' and j.lane_id = l.id)::int as used
        from lanework.lanes l where l.name = any (p_lanes)) x
    where x.used > 0 order by x.name
$$;
