-- Ending a run. The guard of every statement here is (id, attempt, claim_id, running).

create function lanework.completed(
    p_worker bigint, p_ids bigint[], p_attempts int[], p_claims uuid[], p_results text[]
) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_now timestamptz := lanework.now();
    v_count int;
    v_parents bigint[];
    v_sessions text[];
begin
    with gone as (
        -- Found by id, one look each, in the one order for all that lock several rows; then by place. Joined by id, a plan that
        -- was made while the table was small would read all of it when it has grown.
        delete from lanework.jobs j
        using (
            select u.id, u.attempt, u.claim_id, u.result, x.place
            from unnest(p_ids, p_attempts, p_claims, p_results) as u(id, attempt, claim_id, result)
            cross join lateral (
                select t.ctid as place from lanework.jobs t
                where t.id = u.id and t.attempt = u.attempt and t.claim_id = u.claim_id and t.status = 'running' offset 0) x
            order by u.id) h
        -- the whole guard again: not every minor version looks at a row a second time that is found by its place
        where j.ctid = h.place and j.id = h.id and j.attempt = h.attempt and j.claim_id = h.claim_id and j.status = 'running'
        returning j.*, h.result
    ), kept as (
        insert into lanework.jobs_done (
            id, created_at, run_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id,
            rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, tags, payload, finished_at, result)
        select g.id, g.created_at, g.run_at, g.deadline, g.claimed_at, g.worker_id, g.parent, g.continues, g.claim_id, 'completed', g.type_id,
               g.attempt, g.lane_id, g.rank, g.version, g.max_tries, g.tries_used, g.losses, g.depth, g.suspect, g.owner, g.session,
               g.tags, g.payload, v_now, g.result::jsonb
        from gone g
        returning parent, session
    )
    select count(*), array_agg(k.parent) filter (where k.parent is not null), array_agg(k.session) filter (where k.session is not null)
    into v_count, v_parents, v_sessions from kept k;
    if v_parents is not null then
        perform lanework.wake_parents(v_parents);
    end if;
    if v_sessions is not null then
        perform lanework.promote_followers(v_sessions);
    end if;
    if exists (select from lanework.estimating) then
        perform lanework.estimated(p_ids);
    end if;
    if exists (select from lanework.stops) then
        delete from lanework.stops s where s.job_id = any (p_ids)
            and not exists (select from lanework.jobs j where j.id = s.job_id);
    end if;
    return v_count;
end $$;

-- Every other end of a run, as verdicts:
--   action     retry | snooze | release | fail | cancel | complete | wait | park
--   delay_s    when a retry or snooze may start again
--   uses_try   a retry whose tries are used up is a failure
--   loss       the process died while it ran this job alone: three of these are a crash loop
--   suspect    the process died while it ran this job among others: it next runs alone
--   error_class, error_code, error, traceback, cause, reason
--   result, errors   of a completion that is partial: one entry in errors per failed item
--   on_failure, tolerate   of a wait for children
--   on         what a parked job waits for (`rate:…`, `budget:…`); a job of a session is snoozed instead: it keeps its place
-- A cancel that was asked for wins over every way back into the queue.
create function lanework.settle(
    p_worker bigint, p_ids bigint[], p_attempts int[], p_claims uuid[], p_verdicts jsonb[]
) returns table (id bigint, next lanework.job_status, lane_id int, run_at timestamptz)
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
    -- does anybody wait for one of these: a parent, a session, or, if it is cancelled, its children?
    v_related boolean := exists (
            select from lanework.jobs j where j.id = any (p_ids) and (j.parent is not null or j.session is not null) offset 0)
        or exists (select from unnest(p_ids) u where exists (select from lanework.jobs c where c.parent = u offset 0) offset 0);
begin
    if exists (select from lanework.error_rules) then p_verdicts := lanework.apply_rules(p_ids, p_verdicts); end if;
    return query
    with held as materialized (
        select j.*, u.verdict as v, s.kind as stop_kind, s.reason as stop_reason,
               j.tries_used + coalesce((u.verdict ->> 'uses_try')::boolean, false)::int as new_tries,
               j.losses + coalesce((u.verdict ->> 'loss')::boolean, false)::int as new_losses
        from unnest(p_ids, p_attempts, p_claims, p_verdicts) as u(id, attempt, claim_id, verdict)
        join lanework.jobs j on j.id = any (p_ids) and j.id = u.id and j.attempt = u.attempt and j.claim_id = u.claim_id
                            and j.status = 'running'
        left join lanework.stops s on s.job_id = j.id and s.kind = 'cancel'
        order by j.id
        for no key update of j
    ), judged as materialized (
        select h.*, case
            when h.v ->> 'action' = 'cancel' or h.stop_kind is not null and h.v ->> 'action' not in ('fail', 'complete') then 'cancelled'
            when h.v ->> 'action' = 'complete' then 'completed'
            when h.v ->> 'action' = 'wait' and exists (select from lanework.jobs c where c.parent = h.id offset 0) then 'blocked'
            when h.v ->> 'action' = 'park' and h.session is null then 'blocked'
            when h.v ->> 'action' = 'fail' or h.new_losses >= 3 then 'failed'
            when h.v ->> 'action' = 'retry' and h.new_tries >= h.max_tries then 'failed'
            when coalesce((h.v ->> 'delay_s')::float8, 0) > 0 then 'scheduled'
            else 'approved' end::lanework.job_status as next
        from held h
    ), gone as (
        delete from lanework.jobs j using judged g where j.id = any (p_ids) and j.id = g.id and g.next in ('failed', 'cancelled', 'completed')
    ), cancelled as (
        insert into lanework.jobs_done (
            id, created_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id,
            rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, tags, payload, finished_at, reason, partial, result)
        select g.id, g.created_at, g.deadline, g.claimed_at, g.worker_id, g.parent, g.continues, g.claim_id, g.next, g.type_id,
               g.attempt, g.lane_id, g.rank, g.version, g.max_tries, g.tries_used, g.new_losses, g.depth, g.suspect, g.owner,
               g.session, g.tags, g.payload, v_now, coalesce(g.stop_reason, g.v ->> 'reason', ''),
               jsonb_array_length(coalesce(g.v -> 'errors', '[]')) > 0, nullif(g.v -> 'result', 'null')
        from judged g where g.next in ('cancelled', 'completed')
    ), failed as (
        insert into lanework.jobs_failed (
            id, created_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id,
            rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, tags, payload,
            finished_at, error_class, error_code, error)
        select g.id, g.created_at, g.deadline, g.claimed_at, g.worker_id, g.parent, g.continues, g.claim_id, 'failed', g.type_id,
               g.attempt, g.lane_id, g.rank, g.version, g.max_tries, g.new_tries, g.new_losses, g.depth, g.suspect, g.owner,
               g.session, g.tags, g.payload, v_now,
               case when g.new_losses >= 3 then 'crash_loop' else coalesce(g.v ->> 'error_class', 'unknown') end,
               g.v ->> 'error_code', coalesce(g.v ->> 'error', '')
        from judged g where g.next = 'failed'
    ), back as (
        update lanework.jobs j
        set status = g.next, tries_used = g.new_tries, losses = g.new_losses,
            suspect = coalesce((g.v ->> 'suspect')::boolean, false) or coalesce((g.v ->> 'loss')::boolean, false),
            run_at = case when g.next = 'scheduled' then v_now + make_interval(secs => (g.v ->> 'delay_s')::float8) end,
            claim_id = null, worker_id = null, blocked_on = case when g.next = 'blocked' then coalesce(g.v ->> 'on', 'children') end,
            turn = case when g.turn = 0 then 0 else lanework.turn_again(g.type_id, g.lane_id, g.turn) end
        from judged g where j.id = any (p_ids) and j.id = g.id and g.next in ('approved', 'scheduled', 'blocked')
    ), noted as (
        insert into lanework.attempts
        select g.id, g.attempt, g.worker_id, g.claimed_at, v_now,
               case g.next when 'cancelled' then 'cancelled' when 'failed' then 'fail' else g.v ->> 'action' end, g.v ->> 'error_class',
               g.v ->> 'error_code', g.v ->> 'error', g.v ->> 'traceback', g.v ->> 'cause'
        from judged g where g.next <> 'completed'
        on conflict do nothing
    ), items as (
        insert into lanework.item_errors (job_id, item, error_class, error_code, error, traceback, at)
        select g.id, e ->> 'item', e ->> 'error_class', e ->> 'error_code', coalesce(e ->> 'error', ''), e ->> 'traceback', v_now
        from judged g cross join lateral jsonb_array_elements(g.v -> 'errors') e where g.next = 'completed'
        on conflict (job_id, item) do nothing
    ), waiting as (
        insert into lanework.waits as w (job_id, on_failure, tolerate)
        select g.id, coalesce(g.v ->> 'on_failure', 'fail'), coalesce((g.v ->> 'tolerate')::int, 0) from judged g where g.v ->> 'action' = 'wait'
        on conflict (job_id) do update set on_failure = excluded.on_failure, tolerate = excluded.tolerate
    )
    select g.id, g.next, g.lane_id,
           case when g.next = 'scheduled' then v_now + make_interval(secs => (g.v ->> 'delay_s')::float8) end
    from judged g;
    if v_related then
        perform lanework.freed(p_ids);
    end if;
    if exists (select from unnest(p_verdicts) v where v ->> 'action' = 'wait') then
        perform lanework.wake_parents(p_ids); -- a child may have ended while its parent was being parked
    end if;
    if exists (select from lanework.estimating) then
        perform lanework.estimated(p_ids);
    end if;
    -- a cancel that came while this ran must not be lost: it stays until the job is gone, and the sweep carries it out
    if exists (select from lanework.stops) then
        delete from lanework.stops s where s.job_id = any (p_ids)
            and not exists (select from lanework.jobs j where j.id = s.job_id and (j.status = 'running' or s.kind = 'cancel'));
    end if;
end $$;

-- Did this worker itself end these runs? For a finish whose answer was lost: one that changes nothing is read back before it
-- counts as a lost claim.
create function lanework.read_back(p_worker bigint, p_ids bigint[], p_attempts int[], p_claims uuid[])
returns table (id bigint, ended boolean) language sql stable as $$
    select u.id,
           exists (select from lanework.jobs_done d where d.id = u.id and d.claim_id = u.claim_id)
           or exists (select from lanework.jobs_failed f where f.id = u.id and f.claim_id = u.claim_id)
           or exists (
               select from lanework.attempts a
               where a.job_id = u.id and a.attempt = u.attempt and a.worker_id = p_worker and a.outcome <> 'release')
    from unnest(p_ids, p_attempts, p_claims) as u(id, attempt, claim_id)
$$;

-- A worker's finishes and its next claim, in one round trip and one commit. The finishes come before the lane's lock.
create function lanework.complete_and_claim(
    p_worker bigint, p_lane int, p_call bigint, p_no bigint, p_claim uuid, p_want int, p_used int, p_capped int[], p_capped_used int[],
    p_type int[], p_version smallint[], p_turn int[], p_rank smallint[], p_at timestamptz[], p_id bigint[],
    p_below_turn int[], p_below int[],
    p_done bigint[], p_done_attempts int[], p_done_claims uuid[], p_done_results text[], p_limits jsonb default null
) returns table (
    id bigint, type_id int, attempt int, fence bigint, tries_used smallint, version smallint, turn int, rank smallint, suspect boolean,
    past boolean, created_at timestamptz, owner text, bytes int, payload text
)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_count int;
begin
    if not lanework.living(p_worker, '{active,draining}') then -- its finishes are fenced all the same, and refused
        raise exception 'worker % has ended', p_worker using errcode = 'LW401';
    end if;
    if p_done is not null then
        v_count := lanework.completed(p_worker, p_done, p_done_attempts, p_done_claims, p_done_results);
        -- one row with a negative id tells that some of the finishes changed nothing
        if v_count < cardinality(p_done) then
            return query select -v_count::bigint - 1, 0, 0, 0::bigint, 0::smallint, 0::smallint, 0, 0::smallint, false,
                false, null::timestamptz, null::text, 0, null::text;
        end if;
    end if;
    if exists (select from lanework.lane_use u where u.lane_id = p_lane and u.worker_id = p_worker and u.call > p_call) then
        return; -- a later call has been here: nobody waits for the answer to this one
    end if;
    if p_capped <> '{}' then
        perform lanework.use_types(p_worker, p_capped, p_capped_used);
    end if;
    if p_limits is not null then
        perform lanework.keep_permits(p_worker, p_lane, p_limits);
    end if;
    if p_want > 0 then
        return query select * from lanework.claim(
            p_worker, p_lane, p_call, p_no, p_claim, p_want, p_used, p_capped, p_capped_used,
            p_type, p_version, p_turn, p_rank, p_at, p_id, p_below_turn, p_below, p_limits);
        if found then return; end if; -- what it uses now is told by the claim
    end if;
    perform lanework.use_lane(p_lane, p_worker, p_used, p_call);
end $$;
