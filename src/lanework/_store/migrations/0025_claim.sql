-- The claim. Each type is found by its id, one look each, and only then asked for its lane: found by the lane, a claim would look
-- through all of the lane's types once for each range. And a claim of one job is written without sums over one. (Otherwise the
-- function is that of 0004.)

create or replace function lanework.claim(
    p_worker bigint, p_lane int, p_call bigint, p_no bigint, p_claim uuid, p_want int, p_used int,
    p_capped int[], p_capped_used int[],
    p_type int[], p_version smallint[], p_turn int[], p_rank smallint[], p_at timestamptz[], p_id bigint[],
    p_below_turn int[], p_below int[], p_limits jsonb default null
) returns table (
    id bigint, type_id int, attempt int, fence bigint, tries_used smallint, version smallint, turn int, rank smallint, suspect boolean,
    past boolean, created_at timestamptz, owner text, bytes int, payload text
)
language plpgsql volatile
set lock_timeout = '300ms'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_name text;
    v_most int;
    v_free int;
    v_each int;
    v_now timestamptz;
    v_base bigint;
    v_ids bigint[];
    v_live int[];
    v_heads int;
    v_type int;
    v_turn int;
    v_wait interval;
    v_locked boolean := false;
    v_shut int[] := '{}';
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'a claim needs READ COMMITTED: what it reads must not be older than the lane''s lock' using errcode = 'LW100';
    elsif not lanework.living(p_worker, '{active}') then
        if lanework.living(p_worker, '{draining}') then return; end if; -- it may be resumed
        raise exception 'worker % is not active', p_worker using errcode = 'LW401';
    end if;
    select l.max_slots, lanework.free_slots(l, p_worker, p_used, p_want) into v_most, v_free from lanework.lanes l where l.id = p_lane;
    if not found or v_free <= 0 then return; end if;

    -- With one slot the order is a promise: what becomes claimable while this waits for the lock must be seen too.
    if v_most = 1 then
        v_locked := lanework.try_lane_lock(p_lane);
        if not v_locked then return; end if;
    end if;

    -- Types whose declared permits have no room, or whose rate is paused, are not looked at.
    if p_limits is not null then
        v_shut := lanework.shut_types(p_worker, p_lane, p_limits, p_want);
    end if;

    -- Which ranges have anything? At most p_want of them can be among the first p_want jobs. (Without the lock: most looks of an
    -- idle lane end here.) Whether a type may go is asked from the first job on, until enough may: not of a thousand types.
    select array_agg(h.n), count(*) into v_live, v_heads
    from (
        select h.n
        from (
            select r.n, r.type
            from unnest(p_type, p_version, p_turn, p_rank, p_at, p_id, p_below_turn, p_below) with ordinality
                 as r(type, version, turn, rank, at, id, below_turn, below, n)
            cross join lateral (
                select j.turn, j.rank, j.created_at, j.id from lanework.jobs j
                where j.status = 'approved' and j.type_id = r.type and (j.turn, j.rank) < (r.below_turn, r.below)
                  and (j.turn, j.rank, j.created_at, j.id) > (r.turn, r.rank, r.at, r.id) and j.version <= r.version
                order by j.turn, j.rank, j.created_at, j.id limit 1) h
            where r.type <> all (v_shut)
            order by h.turn, h.rank, h.created_at, h.id offset 0) h
        where cardinality(p_type) = 1
           or exists (
               select from (select t.lane, t.concurrency from lanework.job_types t where t.id = h.type offset 0) t
               where t.lane = (select l.name from lanework.lanes l where l.id = p_lane)
                 and (t.concurrency is null or lanework.type_room(h.type, p_worker, p_capped, p_capped_used) > 0))
        limit p_want) h;
    if v_heads = 0 then return; end if;

    if not v_locked and not lanework.try_lane_lock(p_lane) then
        return; -- the lane is busy; the finishes of this call are kept
    end if;
    select l.name, lanework.free_slots(l, p_worker, p_used, p_want) into v_name, v_free from lanework.lanes l where l.id = p_lane;
    if not found or v_free <= 0 then return; end if;
    v_now := lanework.now();
    v_base := lanework.fence_base();

    if v_heads = 1 and p_capped = '{}' then
        v_type := p_type[v_live[1]];
        if not exists (
            select from (select t.lane, t.concurrency from lanework.job_types t where t.id = v_type offset 0) t
            where t.lane = v_name and t.concurrency is null)
        then
            return;
        end if;
        select array_agg(x.id), max(x.turn) filter (where x.turn < 0) into v_ids, v_turn from (
            select j.id, j.turn from lanework.jobs j
            where j.status = 'approved' and j.type_id = v_type and (j.turn, j.rank) < (p_below_turn[v_live[1]], p_below[v_live[1]])
              and (j.turn, j.rank, j.created_at, j.id) > (p_turn[v_live[1]], p_rank[v_live[1]], p_at[v_live[1]], p_id[v_live[1]])
              and j.version <= p_version[v_live[1]]
            order by j.turn, j.rank, j.created_at, j.id limit v_free
            for no key update skip locked) x;
    else
        -- Each range gives at most v_each rows; beyond the last row of a range that may have more, nothing is taken: order
        -- holds, and the next call goes on from there.
        v_each := greatest(ceil(16.0 * v_free / v_heads)::int, 2);
        with ranges as (
            -- the range with the first job of all may give as many as are wanted: often it has them all
            select live.n, case when live.n = v_live[1] then v_free else v_each end as quota, r.*,
                   case when t.concurrency is null then v_free
                       else coalesce(lanework.type_room(t.id, p_worker, p_capped, p_capped_used), v_free) end as room
            from unnest(v_live) as live(n)
            cross join lateral (select p_type[n] as type, p_version[n] as version, p_turn[n] as turn, p_rank[n] as rank, p_at[n] as at, p_id[n] as id,
                       p_below_turn[n] as below_turn, p_below[n] as below) r
            -- by its id, and the lane looked at afterwards: found by the lane, each range would look through all of its types
            cross join lateral (select t.id, t.lane, t.concurrency from lanework.job_types t where t.id = r.type offset 0) t
            where t.lane = v_name
        ), found as materialized (
            select r.n, r.room, r.quota, r.type, x.id, x.turn, x.rank, x.created_at,
                   row_number() over (partition by r.type order by x.turn, x.rank, x.created_at, x.id) as nth,
                   row_number() over (partition by r.n order by x.turn, x.rank, x.created_at, x.id) as step
            from ranges r
            cross join lateral (
                select j.id, j.turn, j.rank, j.created_at from lanework.jobs j
                where j.status = 'approved' and j.type_id = r.type and (j.turn, j.rank) < (r.below_turn, r.below)
                  and (j.turn, j.rank, j.created_at, j.id) > (r.turn, r.rank, r.at, r.id) and j.version <= r.version
                order by j.turn, j.rank, j.created_at, j.id limit least(r.quota, greatest(r.room, 0))) x
        ), edge as (
            select f.turn, f.rank, f.created_at, f.id from found f
            where f.step = f.quota and f.nth < f.room order by f.turn, f.rank, f.created_at, f.id limit 1
        ), chosen as materialized (
            select f.id from found f
            where f.nth <= f.room
              and not exists (select from edge e where (f.turn, f.rank, f.created_at, f.id) > (e.turn, e.rank, e.created_at, e.id))
            order by f.turn, f.rank, f.created_at, f.id limit v_free
        ), locked as (
            select j.id, j.turn from lanework.jobs j where j.id = any (array(select c.id from chosen c)) and j.status::text = 'approved'
            order by j.id for no key update skip locked)
        select array_agg(l.id), max(l.turn) filter (where l.turn < 0) into v_ids, v_turn from locked l;
    end if;
    if v_ids is null then return; end if;
    if p_limits is not null then
        v_ids := lanework.take_declared(p_worker, p_lane, p_limits, v_ids);
        if v_ids = '{}' then -- what was free a moment ago is not any more; others may need something else
            return query select * from lanework.claim(
                p_worker, p_lane, p_call, p_no, p_claim, p_want, p_used, p_capped, p_capped_used,
                p_type, p_version, p_turn, p_rank, p_at, p_id, p_below_turn, p_below, p_limits);
            return;
        end if;
        if v_turn is not null then
            v_turn := (select max(j.turn) from lanework.jobs j where j.id = any (v_ids) and j.turn < 0);
        end if;
    end if;

    if v_turn is not null then
        update lanework.turns t set turn = v_turn where t.lane_id = p_lane and t.turn < v_turn;
    end if;
    if not lanework.use_lane(p_lane, p_worker, p_used + cardinality(v_ids), p_call) then
        raise exception 'a later call of worker % came first', p_worker using errcode = 'LW401';
    end if;
    if p_capped <> '{}' then
        insert into lanework.type_use
        select t.id, p_worker, coalesce(p_capped_used[array_position(p_capped, t.id)], 0) + count(*)
        from lanework.jobs j join lanework.job_types t on t.id = j.type_id
        where j.id = any (v_ids) and t.concurrency is not null group by t.id order by t.id
        on conflict (type_id, worker_id) do update set used = excluded.used;
    end if;
    if cardinality(v_ids) = 1 then -- as below, without the sums
        update lanework.jobs j
        set status = 'running', attempt = j.attempt + 1, claim_id = p_claim, claimed_at = v_now,
            worker_id = p_worker, lane_id = p_lane, run_at = null
        where j.id = v_ids[1]
        returning j.id, j.type_id, j.attempt, v_base + nextval('lanework.fences'), j.tries_used, j.version, j.turn, j.rank, j.suspect,
                  j.attempt > 1 or j.continues is not null, j.created_at, j.owner, pg_column_size(j.payload),
                  case when j.attempt = 1 and j.continues is null and pg_column_size(j.payload) <= 100 then j.payload::text end
        into id, type_id, attempt, fence, tries_used, version, turn, rank, suspect, past, created_at, owner, bytes, payload;
        return next;
        insert into lanework.claims values (p_worker, p_no, p_claim, v_ids);
        insert into lanework.events (at, topic, kind, job_ids, data)
        select v_now, 'job', 'started', v_ids, jsonb_build_object('worker', p_worker)
        where not exists (select from lanework.silent_kinds s where s.topic = 'job' and s.kind in ('started', '*'));
        v_wait := case when claim.attempt = 1 then v_now - claim.created_at end;
        insert into lanework.rollups as r (minute, writer, lane_id, type_id, started, wait_s, wait_hist)
        values (date_trunc('minute', v_now), pg_backend_pid(), p_lane, claim.type_id, 1, coalesce(extract(epoch from v_wait), 0),
                lanework.histogram(array[width_bucket(v_wait, lanework.bucket_bounds())], '{1}'))
        on conflict (minute, writer, lane_id, type_id) do update
        set started = r.started + excluded.started, wait_s = r.wait_s + excluded.wait_s,
            wait_hist = lanework.add_histogram(r.wait_hist, excluded.wait_hist);
        return;
    end if;
    return query
        with taken as (
            update lanework.jobs j
            set status = 'running', attempt = j.attempt + 1, claim_id = p_claim, claimed_at = v_now,
                worker_id = p_worker, lane_id = p_lane, run_at = null
            where j.id = any (v_ids)
            returning j.id, j.type_id, j.attempt, v_base + nextval('lanework.fences') as fence, j.tries_used, j.version, j.turn, j.rank, j.suspect,
                      j.attempt > 1 or j.continues is not null as past, j.created_at, j.owner, pg_column_size(j.payload) as bytes,
                      case when j.attempt = 1 and j.continues is null and pg_column_size(j.payload) <= 100 then j.payload::text end as payload
        ), waited as materialized (
            select t.type_id, case when t.first then width_bucket(v_now - t.created_at, lanework.bucket_bounds()) end as bucket,
                   t.n, t.n * (v_now - t.created_at) as wait, t.low, t.high
            from (
                select t.type_id, t.created_at, t.attempt = 1 as first, count(*) as n, min(t.id) as low, max(t.id) as high
                from taken t group by 1, 2, 3) t
        ), told as (
            -- ids that follow each other, as those of most claims do, are told as a range
            insert into lanework.events (at, topic, kind, job_ids, job_range, data)
            select v_now, 'job', 'started', case when not x.run then v_ids end, case when x.run then int8range(x.low, x.high, '[]') end,
                   jsonb_build_object('worker', p_worker)
            from (select min(w.low) as low, max(w.high) as high, sum(w.n) > 1 and max(w.high) - min(w.low) + 1 = sum(w.n) as run from waited w) x
            where not exists (select from lanework.silent_kinds s where s.topic = 'job' and s.kind in ('started', '*'))
        ), noted as (
            insert into lanework.claims values (p_worker, p_no, p_claim, v_ids)
        ), counted as (
            insert into lanework.rollups as r (minute, writer, lane_id, type_id, started, wait_s, wait_hist)
            select date_trunc('minute', v_now), pg_backend_pid(), p_lane, w.type_id, sum(w.n),
                   coalesce(extract(epoch from sum(w.wait) filter (where w.bucket is not null)), 0),
                   lanework.histogram(array_agg(w.bucket), array_agg(w.n))
            from waited w group by w.type_id
            on conflict (minute, writer, lane_id, type_id) do update
            set started = r.started + excluded.started, wait_s = r.wait_s + excluded.wait_s,
                wait_hist = lanework.add_histogram(r.wait_hist, excluded.wait_hist)
        )
        select * from taken;
end $$;
