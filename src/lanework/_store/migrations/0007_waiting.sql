-- Jobs that wait for a moment, jobs that have waited too long, and jobs that somebody wants stopped.

-- Makes due jobs claimable, a bounded number a call.
create function lanework.promote(p_limit int default 500)
returns table (lane text, promoted int)
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
    v_ids bigint[];
    v_types int[];
begin
    with due as materialized (
        select j.id from lanework.jobs j
        where j.status = 'scheduled' and j.run_at <= v_now order by j.run_at, j.id limit p_limit
        for no key update skip locked
    ), woken as (
        update lanework.jobs j set status = 'approved', run_at = null where j.id = any (array(select d.id from due d)) returning j.id, j.type_id
    )
    select array_agg(w.id), array_agg(w.type_id) into v_ids, v_types from woken w;
    if v_ids is null then return; end if;
    perform lanework.take_turns(v_ids, v_types);
    return query select t.lane, count(*)::int from unnest(v_types) w join lanework.job_types t on t.id = w group by t.lane;
end $$;

-- Ends one job as cancelled. A queued one ends in this call; for a running one the request is stored, and whatever ends the run
-- honours it. Answers 'cancelled', 'stopping', or the final state that came first. (An operator's cancel, with its audit row, is
-- `lanework.cancel`.)
create function lanework.stop_job(p_id bigint, p_asked_by text, p_reason text, p_children boolean) returns text
language plpgsql volatile as $$
declare
    j lanework.jobs%rowtype;
    v_now timestamptz := lanework.now();
    v_final text;
begin
    select * into j from lanework.jobs where id = p_id;
    if found and j.status <> 'running' then
        -- waits for a claim or a promotion of this row to commit, then looks again
        select * into j from lanework.jobs where id = p_id for no key update;
    end if;
    if found and j.status <> 'running' then
        delete from lanework.jobs where id = p_id;
        insert into lanework.jobs_done (
            id, created_at, run_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id,
            rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, tags, payload, finished_at, reason)
        values (
            j.id, j.created_at, j.run_at, j.deadline, j.claimed_at, j.worker_id, j.parent, j.continues, j.claim_id, 'cancelled', j.type_id,
            j.attempt, j.lane_id, j.rank, j.version, j.max_tries, j.tries_used, j.losses, j.depth, j.suspect, j.owner, j.session,
            j.tags, j.payload, v_now, p_reason);
        if not p_children then
            insert into lanework.stops (job_id, kind, asked_at, children) values (p_id, 'cancel', v_now, false)
            on conflict (job_id) do update set children = false;
        end if;
        perform lanework.freed(array[p_id]);
        delete from lanework.stops where job_id = p_id;
        return 'cancelled';
    elsif found then
        insert into lanework.stops (job_id, kind, asked_at, asked_by, reason, children)
        values (p_id, 'cancel', v_now, p_asked_by, p_reason, p_children)
        on conflict (job_id) do update
        set kind = 'cancel', asked_by = excluded.asked_by, reason = excluded.reason, children = excluded.children;
        if exists (select from lanework.jobs where id = p_id) then
            perform lanework.hint('!');
            return 'stopping';
        end if;
        delete from lanework.stops where job_id = p_id; -- it has ended while this asked
    end if;
    select status::text into v_final from lanework.jobs_done where id = p_id;
    if not found then
        select status::text into v_final from lanework.jobs_failed where id = p_id;
    end if;
    return v_final;
end $$;

-- Ends queued jobs over their max_age, asks for the end of running ones over it or without progress, and carries out stop
-- requests that met a job on its way back into the queue. Bounded, guarded, safe for any number of sweepers.
create function lanework.sweep(p_limit int default 500) returns table (what text, count int)
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
    v_count int;
    v_expired bigint[];
begin
    with old as materialized (
        select j.id from lanework.jobs j
        where j.deadline is not null and j.deadline <= v_now and j.status <> 'running'
        order by j.deadline limit p_limit for no key update skip locked
    ), gone as (
        delete from lanework.jobs j where j.id = any (array(select o.id from old o)) returning j.*
    ), kept as (
        insert into lanework.jobs_failed (
            id, created_at, run_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id,
            rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, tags, payload,
            finished_at, error_class, error_code, error)
        select g.id, g.created_at, g.run_at, g.deadline, g.claimed_at, g.worker_id, g.parent, g.continues, null, 'failed', g.type_id, g.attempt,
               g.lane_id, g.rank, g.version, g.max_tries, g.tries_used, g.losses, g.depth, g.suspect, g.owner, g.session, g.tags,
               g.payload, v_now, 'timeout', 'LW-404', 'not finished within its max_age'
        from gone g returning id
    )
    select count(*), array_agg(k.id) into v_count, v_expired from kept k;
    if v_count > 0 then
        perform lanework.freed(v_expired);
        return query select 'expired', v_count;
    end if;

    insert into lanework.stops (job_id, kind, asked_at, reason)
    select j.id, 'expired', v_now, 'not finished within its max_age'
    from lanework.jobs j where j.deadline is not null and j.deadline <= v_now and j.status = 'running'
    limit p_limit on conflict do nothing;
    get diagnostics v_count = row_count;
    if v_count > 0 then return query select 'overdue', v_count; end if;

    -- only types that say they report progress, or jobs that have reported once, can be stale
    insert into lanework.stops (job_id, kind, asked_at, reason)
    select j.id, 'stalled', v_now, 'no progress for longer than its stale timeout'
    from lanework.claims c cross join lateral unnest(c.job_ids) x
    -- `offset 0` keeps the order: from the few claims to their jobs, never through all jobs
    cross join lateral (
        select j.* from lanework.jobs j where j.id = x and j.claim_id = c.claim_id and j.status = 'running' offset 0) j
    join lanework.job_types t on t.id = j.type_id
    join lanework.lanes l on l.id = j.lane_id
    left join lanework.progress p on p.job_id = j.id and p.attempt = j.attempt
    where not t.never_stale and (t.reports_progress or p.job_id is not null)
      and coalesce(p.at, j.claimed_at) < v_now - coalesce(
          make_interval(secs => t.stale_after_s), make_interval(mins => l.stale_timeout_minutes))
    limit p_limit on conflict do nothing;
    get diagnostics v_count = row_count;
    if v_count > 0 then return query select 'stalled', v_count; end if;

    -- what finishes and submits have missed: parents whose children are all done, sessions that nobody let go
    perform lanework.wake_parents(array(
        select j.id from lanework.waits w
        cross join lateral (
            select j.id from lanework.jobs j where j.id = w.job_id and j.status = 'blocked' and j.blocked_on = 'children' offset 0) j
        where not exists (select from lanework.jobs c where c.parent = j.id offset 0) limit p_limit));
    perform lanework.promote_sessions(lanework.idle_sessions(p_limit));
    perform lanework.cancel_families(p_limit);
    perform lanework.stop_job(x.job_id, x.asked_by, x.reason, x.children)
    from (
        select s.* from lanework.stops s join lanework.jobs j on j.id = s.job_id
        where s.kind = 'cancel' and j.status <> 'running'
        order by s.job_id limit p_limit for update of j skip locked) x;
    delete from lanework.stops s
    where s.asked_at < v_now - interval '10 s' and not exists (select from lanework.jobs j where j.id = s.job_id);
end $$;
