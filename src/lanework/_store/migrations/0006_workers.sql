-- Workers: birth, beats, death.

create function lanework.start_worker(
    p_name text, p_host text, p_pid int, p_ttl interval, p_lanes text[], p_types int[], p_info jsonb
) returns bigint language sql volatile as $$
    insert into lanework.workers (name, host, pid, ttl, lanes, types, info)
    values (p_name, p_host, p_pid, p_ttl, p_lanes, p_types, p_info) returning id
$$;

-- Gives running jobs back to the queue with no try used. p_suspect: their shared process died under them, so those that ran
-- in it next run alone. Rows that somebody has locked are left for the next call.
create function lanework.give_back(p_claims uuid[], p_ids bigint[], p_cause text, p_suspect boolean)
returns table (id bigint, next lanework.job_status, lane_id int)
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    v_ids bigint[]; v_attempts int[]; v_claims uuid[]; v_verdicts jsonb[];
begin
    select array_agg(x.id), array_agg(x.attempt), array_agg(x.claim_id), array_agg(x.verdict)
    into v_ids, v_attempts, v_claims, v_verdicts
    from (
        select j.id, j.attempt, j.claim_id, jsonb_build_object(
                   'action', 'release', 'uses_try', false, 'error_class', 'worker_lost', 'error_code', 'LW-403',
                   'error', p_cause, 'cause', p_cause,
                   'suspect', j.suspect or p_suspect and t.executor in ('async', 'thread')) as verdict
        from lanework.jobs j join lanework.job_types t on t.id = j.type_id
        where j.id = any (p_ids) and j.claim_id = any (p_claims) and j.status = 'running'
        order by j.id
        for no key update of j skip locked
    ) x;
    if v_ids is not null then
        return query select s.id, s.next, s.lane_id from lanework.settle(null, v_ids, v_attempts, v_claims, v_verdicts) s;
    end if;
end $$;

-- A hint for each lane in which rows have just appeared behind the remembered positions.
create function lanework.hint_lanes(p_lanes int[]) returns void language plpgsql volatile as $$
begin
    perform lanework.hint(l.name) from lanework.lanes l where l.id = any (p_lanes);
end $$;

-- Ends a worker: marks its row, so that no claim of it can commit any more, and gives back what it held. Answers the number
-- of jobs given back; call again while `left` says that some rows were locked.
create function lanework.end_worker(p_worker bigint, p_state text, p_because text, p_suspect boolean)
returns table (given_back int, remaining int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_lanes int[];
    v_given int := 0;
    v_left int;
begin
    perform from lanework.workers w where w.id = p_worker for update;
    update lanework.workers w
    set state = p_state, ended_at = coalesce(w.ended_at, lanework.now()), ended_because = coalesce(w.ended_because, p_because)
    where w.id = p_worker and w.state <> 'dead';
    select count(*), array_agg(distinct g.lane_id) into v_given, v_lanes
    from (select array_agg(c.claim_id) as claims, (select array_agg(x) from lanework.claims d, unnest(d.job_ids) x where d.worker_id = p_worker) as ids
          from lanework.claims c where c.worker_id = p_worker) a
    cross join lateral lanework.give_back(a.claims, a.ids, p_because, p_suspect) g;
    select count(*) into v_left
    from lanework.claims c cross join lateral unnest(c.job_ids) x
    cross join lateral (
        select from lanework.jobs j where j.id = x and j.status = 'running' and j.claim_id = c.claim_id offset 0) j
    where c.worker_id = p_worker;
    if v_left = 0 then
        delete from lanework.claims c where c.worker_id = p_worker;
        delete from lanework.lane_use u where u.worker_id = p_worker;
        delete from lanework.type_use u where u.worker_id = p_worker;
        perform lanework.free_permits(p_worker);
        update lanework.leader set until = '-infinity' where worker_id = p_worker;
    end if;
    perform lanework.hint_lanes(v_lanes);
    return query select v_given, v_left;
end $$;

-- The heartbeat. Carries the claims that the worker knows: p_open of those numbered up to p_told. Others up to that number had
-- their answer lost; they are given back. Answers what the worker must stop, or that it has been declared dead.
create function lanework.beat(p_worker bigint, p_open bigint[], p_told bigint, p_gap interval)
returns table (kind text, job_id bigint, attempt int, reason text)
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
    v_lanes int[];
begin
    -- a beat that a crash of the server forgets is beaten again
    perform set_config('synchronous_commit', 'off', true);
    update lanework.workers w
    set seen_at = v_now, steady_since = case when w.seen_at < v_now - p_gap then v_now else w.steady_since end
    where w.id = p_worker and w.state in ('active', 'draining');
    if not found then
        return query select 'retired', null::bigint, null::int,
            (select w.ended_because from lanework.workers w where w.id = p_worker);
        return;
    end if;
    select array_agg(distinct g.lane_id) into v_lanes
    from (
        select array_agg(distinct c.claim_id) as claims, array_agg(x) as ids
        from lanework.claims c cross join lateral unnest(c.job_ids) x
        where c.worker_id = p_worker and c.no <= p_told and c.no <> all (p_open)) a
    cross join lateral lanework.give_back(a.claims, a.ids, 'the answer to the claim was lost', false) g
    where a.ids is not null;
    delete from lanework.claims c
    where c.worker_id = p_worker and c.no <= p_told and c.no <> all (p_open)
      and not exists (
          select from unnest(c.job_ids) x join lanework.jobs j on j.id = x where j.status = 'running' and j.claim_id = c.claim_id);
    if v_lanes is not null then
        perform lanework.hint_lanes(v_lanes);
    end if;
    return query
        select s.kind, j.id, j.attempt, s.reason
        from lanework.stops s join lanework.jobs j on j.id = s.job_id
        where j.worker_id = p_worker and j.status = 'running';
end $$;

-- Leadership is a lease under the database's clock: it works behind a pooler, and a machine that dies takes nothing with it.
create function lanework.lead(p_worker bigint, p_lease interval) returns boolean
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
begin
    update lanework.leader l
    set worker_id = p_worker, until = v_now + p_lease, term = l.term + (l.worker_id is distinct from p_worker)::int
    where l.one and (l.worker_id = p_worker or l.until < v_now)
      and exists (select from lanework.workers w where w.id = p_worker and w.state in ('active', 'draining'));
    return found;
end $$;

-- Declares silent workers dead. Nobody is expired until one expiry after the server's start, nor by a worker whose own
-- beats had a gap: after an outage everybody gets the time to say that he lives.
create function lanework.reap(p_worker bigint) returns table (worker_id bigint, given_back int, remaining int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
    v_id bigint;
begin
    for v_id in
        select w.id from lanework.workers w
        where w.state in ('active', 'draining') and w.id <> p_worker and w.seen_at < v_now - w.ttl
          and clock_timestamp() - pg_postmaster_start_time() > w.ttl
          and exists (
              select from lanework.workers me
              where me.id = p_worker and me.steady_since < v_now - w.ttl and me.seen_at > v_now - w.ttl / 2)
        order by w.id for update skip locked
    loop
        -- its backends may still hold locks that the server would notice only by keepalive
        perform pg_terminate_backend(a.pid) from pg_stat_activity a
        where a.application_name like format('lanework-%s-%%', v_id) and a.pid <> pg_backend_pid()
          and a.usename = current_user and a.datname = current_database();
        return query select v_id, e.given_back, e.remaining
            from lanework.end_worker(v_id, 'dead', 'no heartbeat until its expiry', false) e;
    end loop;
    -- ended before, but some of its rows were locked then
    for v_id in
        select w.id from lanework.workers w
        where w.state in ('stopped', 'dead') and exists (select from lanework.claims c where c.worker_id = w.id)
        order by w.id for update skip locked
    loop
        return query select v_id, e.given_back, e.remaining
            from lanework.end_worker(v_id, 'dead', 'left over from a worker that had ended', false) e;
    end loop;
end $$;
