-- What a job that finishes alone costs: fewer statements, and no sums over one row. (Otherwise the functions are those of 0005 and 0020.)

create or replace function lanework.completed(
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
    v_estimating boolean;
    v_stops boolean;
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
    select count(*), array_agg(k.parent) filter (where k.parent is not null), array_agg(k.session) filter (where k.session is not null),
           -- what comes to these tables after this is found by the sweep
           exists (select from lanework.estimating), exists (select from lanework.stops)
    into v_count, v_parents, v_sessions, v_estimating, v_stops from kept k;
    if v_parents is not null then
        perform lanework.wake_parents(v_parents);
    end if;
    if v_sessions is not null then
        perform lanework.promote_followers(v_sessions);
    end if;
    if v_estimating then
        perform lanework.estimated(p_ids);
    end if;
    if v_stops then
        delete from lanework.stops s where s.job_id = any (p_ids)
            and not exists (select from lanework.jobs j where j.id = s.job_id);
    end if;
    return v_count;
end $$;

create or replace function lanework.note_done() returns trigger
language plpgsql as $$
declare
    v_low bigint;
    v_high bigint;
    v_count bigint;
    v_kind text;
    v_one record;
begin
    select a.id, a.lane_id, a.type_id, a.status, a.finished_at - a.claimed_at as ran, exists (select from added offset 1) as many,
           exists (select from lanework.silent_kinds s where s.topic = 'job' and s.kind in ('completed', '*')) as silent
    into v_one from added a limit 1;
    if v_one.status = 'completed' and not (v_one.many or v_one.silent) then -- as below, without the sums
        insert into lanework.rollups as r (minute, writer, lane_id, type_id, completed, run_s, run_hist)
        values (date_trunc('minute', lanework.now()), pg_backend_pid(), coalesce(v_one.lane_id, 0), v_one.type_id, 1,
                coalesce(extract(epoch from v_one.ran), 0),
                lanework.histogram(array[width_bucket(v_one.ran, lanework.bucket_bounds())], '{1}'))
        on conflict (minute, writer, lane_id, type_id) do update
        set completed = r.completed + excluded.completed, run_s = r.run_s + excluded.run_s,
            run_hist = lanework.add_histogram(r.run_hist, excluded.run_hist);
        insert into lanework.events (topic, kind, job_ids) values ('job', 'completed', array[v_one.id]);
        return null;
    end if;
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

-- By places, not by a query: most have one other than 0.
create or replace function lanework.add_histogram(p_one int[], p_other int[]) returns int[]
language plpgsql immutable parallel safe as $$
declare
    v_sum int[] := p_one;
    v_add int[] := p_other;
begin
    if p_one is null or p_other is null then return coalesce(p_one, p_other); end if;
    if cardinality(v_sum) < cardinality(v_add) then
        v_sum := p_other;
        v_add := p_one;
    end if;
    for i in 1 .. cardinality(v_add) loop
        if v_add[i] <> 0 then v_sum[i] := coalesce(v_sum[i], 0) + v_add[i]; end if;
    end loop;
    return v_sum;
end $$;
