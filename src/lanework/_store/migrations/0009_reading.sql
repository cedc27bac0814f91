-- Reading. One view over live, finished and failed jobs: a job that moves while it is read is seen in one of them.

create view lanework.all_jobs as
select j.id, t.name as type, j.status, -j.rank as priority,
       coalesce(case when j.status = 'running' or j.finished_at is not null then l.name end, t.lane) as lane, j.attempt, j.tries_used, j.max_tries,
       j.losses, j.version, j.owner, j.session, j.tags, j.parent, j.continues, j.created_at, j.run_at, j.claimed_at, j.finished_at,
       j.deadline, j.worker_id, j.claim_id, j.type_id, j.lane_id, j.partial, j.blocked_on, j.payload, j.result,
       j.error_class, j.error_code, j.error
from (
    select id, created_at, run_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id, rank, version,
           max_tries, tries_used, losses, owner, session, blocked_on, tags, payload, null::timestamptz as finished_at,
           false as partial, null::jsonb as result, null::text as error_class, null::text as error_code, null::text as error
    from lanework.jobs
    union all
    select id, created_at, run_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id, rank, version,
           max_tries, tries_used, losses, owner, session, null, tags, payload, finished_at, partial, result, null, null, reason
    from lanework.jobs_done
    union all
    select id, created_at, run_at, deadline, claimed_at, worker_id, parent, continues, claim_id, status, type_id, attempt, lane_id, rank, version,
           max_tries, tries_used, losses, owner, session, null, tags, payload, finished_at, false, null, error_class, error_code, error
    from lanework.jobs_failed
) j
left join lanework.job_types t on t.id = j.type_id
left join lanework.lanes l on l.id = j.lane_id;

-- Lanes as operators see them. Its own columns can be updated; job types move by their own rows.
create view lanework.worker_lanes as
select l.name,
       array(select t.name from lanework.job_types t where t.lane = l.name order by t.name) as job_types,
       l.max_slots, l.worker_slots, l.poll_interval_ms, l.stale_timeout_minutes, l.enabled, l.fair, l.updated_at, l.id, l.set_by
from lanework.lanes l;

-- What a worker asks once a poll, for all its lanes in one statement: the lanes' rows, which of its types they have, whether
-- anything waits there, and when the next delayed job is due. Due jobs are made claimable on the way.
create function lanework.look(p_lanes text[], p_types int[])
returns table (
    id int, name text, max_slots int, worker_slots int, poll_interval_ms int, enabled boolean,
    types int[], concurrencies int[], ready boolean, next_due timestamptz, now timestamptz
)
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
#variable_conflict use_column
begin
    if exists (select from lanework.jobs j where j.status = 'scheduled' and j.run_at <= lanework.now()) then
        perform from lanework.promote();
    end if;
    return query
    select l.id, l.name, l.max_slots, l.worker_slots, l.poll_interval_ms, l.enabled, t.ids, t.concurrencies,
           exists (select from unnest(t.ids) x where exists (
               select from lanework.jobs j where j.status = 'approved' and j.type_id = x)),
           (select j.run_at from lanework.jobs j where j.status = 'scheduled' order by j.run_at, j.id limit 1),
           lanework.now()
    from lanework.lanes l
    cross join lateral (
        select coalesce(array_agg(t.id), '{}') as ids, coalesce(array_agg(t.concurrency), '{}') as concurrencies
        from lanework.job_types t where t.lane = l.name and t.id = any (p_types)) t
    where p_lanes is null or l.name = any (p_lanes);
end $$;

-- Job types with waiting jobs that no living worker serves: an alarm, not silence.
create view lanework.unserved_types as
select t.name as type, t.lane
from lanework.job_types t
where exists (select from lanework.jobs j where j.status = 'approved' and j.type_id = t.id)
  and not exists (
      select from lanework.workers w
      where w.state = 'active' and t.id = any (w.types) and (w.lanes = '{}' or t.lane = any (w.lanes)));
