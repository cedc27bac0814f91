-- The leader's housekeeping: plain SQL, in small bounded pieces. Two leaders at once only do it twice as often.

create function lanework.keep(p_thing text) returns interval
language sql stable as $$ select keep from lanework.lifetimes where thing = p_thing $$;

-- Removes what has outlived its time, at most p_limit rows of each kind. Jobs leave from the lowest ids on: a bounded look
-- at the oldest ones, never a scan of the history.
create function lanework.prune(p_limit int default 2000) returns table (thing text, removed int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
begin
    return query
    with old as (
        select x.id from (select d.id, d.finished_at from lanework.jobs_done d order by d.id limit p_limit * 3) x
        where x.finished_at < v_now - lanework.keep('completed') limit p_limit),
    gone as (delete from lanework.jobs_done d using old where d.id = old.id returning d.id),
    tries as (delete from lanework.attempts a using gone where a.job_id = gone.id)
    select 'completed', count(*)::int from gone having count(*) > 0;
    return query
    with old as (
        select x.id from (select d.id, d.finished_at from lanework.jobs_failed d order by d.id limit p_limit * 3) x
        where x.finished_at < v_now - lanework.keep('failed') limit p_limit),
    gone as (delete from lanework.jobs_failed d using old where d.id = old.id returning d.id),
    tries as (delete from lanework.attempts a using gone where a.job_id = gone.id)
    select 'failed', count(*)::int from gone having count(*) > 0;
    return query select * from lanework.prune_dead(p_limit);
    return query
    with gone as (
        delete from lanework.logs l where (l.job_id, l.id) in (
            select x.job_id, x.id from (select o.job_id, o.id, o.at from lanework.logs o order by o.job_id, o.id limit p_limit * 3) x
            where x.at < v_now - lanework.keep('logs') limit p_limit) returning 1)
    select 'logs', count(*)::int from gone having count(*) > 0;
    return query
    with gone as (
        delete from lanework.keys k where (k.owner, k.key) in (
            select x.owner, x.key from lanework.keys x where x.created_at < v_now - lanework.keep('keys')
              and lanework.key_expired(x.job_id, x.created_at, v_now) limit p_limit) returning 1)
    select 'keys', count(*)::int from gone having count(*) > 0;
    return query
    with gone as (
        delete from lanework.checkpoints c where c.job_id in (
            select x.job_id from lanework.checkpoints x where x.at < v_now - lanework.keep('checkpoints')
              and not exists (select from lanework.jobs j where j.id = x.job_id) limit p_limit) returning 1)
    select 'checkpoints', count(*)::int from gone having count(*) > 0;
    return query
    with gone as (
        delete from lanework.steps s where (s.job_id, s.key) in (
            select x.job_id, x.key from (select o.job_id, o.key, o.at from lanework.steps o order by o.at limit p_limit * 3) x
            where x.at < v_now - lanework.keep('steps') and not exists (select from lanework.jobs j where j.id = x.job_id)
              and not exists (select from lanework.all_jobs d where d.id = x.job_id and d.finished_at > v_now - lanework.keep('steps'))
            limit p_limit) returning 1)
    select 'steps', count(*)::int from gone having count(*) > 0;
    delete from lanework.item_errors e where e.job_id in (
        select x.job_id from lanework.item_errors x
        where x.at < v_now - lanework.keep('completed') and not exists (select from lanework.jobs_done d where d.id = x.job_id) limit p_limit);
    delete from lanework.children k where k.parent_id in (
        select x.parent_id from (select o.parent_id from lanework.children o order by o.parent_id limit p_limit) x
        where not exists (select from lanework.all_jobs j where j.id = x.parent_id));
    perform lanework.prune_operations(p_limit);
    delete from lanework.waits w where not exists (select from lanework.jobs j where j.id = w.job_id);
    perform lanework.prune_approvals(p_limit);
    return query
    with gone as (
        delete from lanework.progress p where p.job_id in (
            select x.job_id from lanework.progress x where x.at < v_now - lanework.keep('completed')
              and not exists (select from lanework.jobs j where j.id = x.job_id) limit p_limit) returning 1)
    select 'progress', count(*)::int from gone having count(*) > 0;
    perform lanework.prune_limits(p_limit);
    return query
    with gone as (
        delete from lanework.workers w where w.state in ('stopped', 'dead') and w.ended_at < v_now - lanework.keep('workers')
          and not exists (select from lanework.claims c where c.worker_id = w.id) returning 1)
    select 'workers', count(*)::int from gone having count(*) > 0;
    return query select * from lanework.prune_rollups(p_limit);
    -- last: its locks are held until the end
    return query select * from lanework.prune_events();
end $$;

-- One statement for what every worker's guard does now and then: keep or take the lead, declare silent workers dead, sweep.
create function lanework.tend(p_worker bigint, p_lease interval) returns table (leads boolean, recovered int, swept int, unfinished boolean)
language plpgsql volatile as $$
declare
    v_leads boolean := lanework.lead(p_worker, p_lease);
    v_recovered int;
    v_swept int;
begin
    select coalesce(sum(r.given_back), 0) into v_recovered from lanework.reap(p_worker) r;
    select coalesce(sum(s.count), 0) into v_swept from lanework.sweep() s;
    perform lanework.align_turns();
    v_swept := v_swept + lanework.tend_approvals();
    perform lanework.carry_redrives();
    perform lanework.gather_notifications();
    perform lanework.sweep_limits();
    perform lanework.end_freezes();
    return query select v_leads, v_recovered, v_swept, lanework.carry_operations();
end $$;
