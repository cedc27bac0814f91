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
