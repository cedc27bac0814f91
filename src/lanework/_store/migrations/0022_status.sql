-- What an operator's page asks again and again. Counted from small tables and index ends, never by reading all jobs.

-- Who holds which slot: from the open claims to their jobs.
create function lanework.slot_holders(p_limit int default 1000)
returns table (
    lane text, job_id bigint, type text, owner text, attempt int, worker_id bigint, claimed_by text, claimed_at timestamptz,
    last_progress_at timestamptz, fraction real, message text, cancel_requested boolean
)
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select l.name, j.id, t.name, j.owner, j.attempt, j.worker_id, w.name, j.claimed_at, p.at, p.fraction, coalesce(p.message, ''),
           exists (select from lanework.stops s where s.job_id = j.id and s.kind = 'cancel')
    from lanework.claims c cross join lateral unnest(c.job_ids) x
    cross join lateral (
        select j.* from lanework.jobs j where j.id = x and j.claim_id = c.claim_id and j.status = 'running' offset 0) j
    join lanework.job_types t on t.id = j.type_id
    left join lanework.lanes l on l.id = j.lane_id
    left join lanework.workers w on w.id = j.worker_id
    left join lanework.progress p on p.job_id = j.id and p.attempt = j.attempt
    order by j.claimed_at, j.id limit p_limit;
end $$;

-- How many jobs of each type wait, counted up to a limit (beyond it the number says "at least"), and since when the first does.
create function lanework.queue_depth(p_most int default 10000)
returns table (lane text, type text, waiting int, oldest timestamptz)
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select t.lane, t.name, d.n, h.created_at
    from lanework.job_types t
    cross join lateral (
        select count(*)::int as n from (
            select from lanework.jobs j where j.status = 'approved' and j.type_id = t.id limit p_most) x) d
    left join lateral (
        select min(y.created_at) as created_at from (
            select j.created_at from lanework.jobs j where j.status = 'approved' and j.type_id = t.id
            order by j.rank, j.created_at, j.id limit 100) y) h on true
    where d.n > 0
    order by t.lane, t.name;
end $$;

-- Removes a job that has ended, and what hangs on it. Answers the status it had; null if there is no such job; nothing happens to
-- one that has not ended.
create function lanework.delete_job(p_id bigint, p_by text) returns text
language plpgsql volatile as $$
declare
    v_status text;
begin
    delete from lanework.jobs_done d where d.id = p_id returning d.status::text into v_status;
    if v_status is null then
        delete from lanework.jobs_failed f where f.id = p_id returning 'failed' into v_status;
    end if;
    if v_status is null then
        return (select j.status::text from lanework.jobs j where j.id = p_id);
    end if;
    delete from lanework.attempts a where a.job_id = p_id;
    delete from lanework.logs l where l.job_id = p_id;
    delete from lanework.steps s where s.job_id = p_id;
    delete from lanework.job_blobs b where b.job_id = p_id;
    delete from lanework.item_errors e where e.job_id = p_id;
    delete from lanework.progress p where p.job_id = p_id;
    delete from lanework.checkpoints c where c.job_id = p_id;
    perform lanework.audit(p_by, 'job.delete', 'job:' || p_id, jsonb_build_object('status', v_status));
    return v_status;
end $$;
