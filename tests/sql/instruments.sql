-- What the tests add to a database of their own: a clock that stands still until it is moved, a history of every change
-- written by trigger, and the oracles, views over that history that are empty as long as the engine keeps its promises.
-- LANEWORK_CLOCK: nothing here is part of the product.

create schema proof;

create table proof.clock (frozen timestamptz, shift interval not null default '0');
insert into proof.clock default values;
create or replace function lanework.now() returns timestamptz language plpgsql stable parallel safe as $$
begin
    return (select coalesce(c.frozen, clock_timestamp()) + c.shift from proof.clock c);
end $$;

create table proof.history (
    seq bigint generated always as identity primary key,
    xid xid8 not null default pg_current_xact_id(),
    place text not null,
    job_id bigint not null,
    was lanework.job_status,
    status lanework.job_status, -- null: the row left this table
    attempt int not null,
    tries_used int not null,
    max_tries int not null,
    claim_id uuid,
    worker_id bigint,
    lane_id int,
    type_id int not null,
    -- what held when it was written
    slots int,
    concurrency int,
    unapproved boolean not null default false
);
create index on proof.history (job_id, seq);

create function proof.record() returns trigger language plpgsql as $$
declare
    r record;
begin
    if tg_op = 'DELETE' then r := old; else r := new; end if;
    -- another place in the queue is no other state
    if tg_op = 'UPDATE' and (old.rank, old.turn) <> (new.rank, new.turn)
       and (old.status, old.attempt, old.tries_used) = (new.status, new.attempt, new.tries_used) then
        return null;
    end if;
    insert into proof.history (
        place, job_id, was, status, attempt, tries_used, max_tries, claim_id, worker_id, lane_id, type_id, slots, concurrency, unapproved)
    values (
        case when tg_table_name = 'jobs' then 'jobs' when tg_table_name = 'jobs_failed' then 'jobs_failed' else 'jobs_done' end,
        r.id, case when tg_op <> 'INSERT' then old.status end, case when tg_op <> 'DELETE' then r.status end,
        r.attempt, r.tries_used, r.max_tries, r.claim_id, r.worker_id, r.lane_id, r.type_id,
        (select l.max_slots from lanework.lanes l where l.id = r.lane_id),
        (select t.concurrency from lanework.job_types t where t.id = r.type_id),
        tg_table_name = 'jobs' and tg_op = 'UPDATE' and r.status = 'running'
        and exists (
            select from lanework.job_types t where t.id = r.type_id and t.approval = 'always' and not exists (
                select from lanework.approvals a
                where a.job_id = r.id and a.hash = lanework.job_hash(t.name, r.version, r.payload, r.owner))));
    return null;
end $$;
create trigger record after insert or update or delete on lanework.jobs for each row execute function proof.record();
create trigger record after insert or update or delete on lanework.jobs_done for each row execute function proof.record();
create trigger record after insert or update or delete on lanework.jobs_failed for each row execute function proof.record();

-- A job's life: each state it was given, with the one before it.
create view proof.life as
select h.*, lag(h.status) over job as before, lag(h.attempt) over job as attempt_before,
       lag(h.tries_used) over job as tries_before
from proof.history h where h.status is not null
window job as (partition by h.job_id order by h.seq);

create table proof.legal (before lanework.job_status, after lanework.job_status not null);
insert into proof.legal values
    (null, 'approved'), (null, 'scheduled'), (null, 'blocked'),
    ('blocked', 'approved'), ('blocked', 'scheduled'), ('blocked', 'cancelled'), ('blocked', 'failed'), ('running', 'blocked'),
    ('scheduled', 'approved'), ('scheduled', 'cancelled'), ('scheduled', 'failed'),
    ('approved', 'running'), ('approved', 'cancelled'), ('approved', 'failed'),
    ('running', 'approved'), ('running', 'scheduled'), ('running', 'completed'), ('running', 'failed'), ('running', 'cancelled'),
    -- new jobs are put where they belong in the statement after the insert; an edit puts a waiting job there again
    ('approved', 'pending'), ('approved', 'awaiting_approval'), ('scheduled', 'pending'), ('scheduled', 'awaiting_approval'),
    ('blocked', 'pending'), ('blocked', 'awaiting_approval'),
    ('approved', 'approved'), ('approved', 'blocked'), ('scheduled', 'scheduled'), ('scheduled', 'blocked'), ('blocked', 'blocked'),
    ('pending', 'pending'), ('pending', 'awaiting_approval'), ('pending', 'approved'), ('pending', 'scheduled'), ('pending', 'blocked'),
    ('pending', 'cancelled'), ('pending', 'failed'),
    ('awaiting_approval', 'approved'), ('awaiting_approval', 'scheduled'), ('awaiting_approval', 'blocked'),
    ('awaiting_approval', 'cancelled'), ('awaiting_approval', 'failed'),
    -- only the redrive leaves `failed`, and it has to say so (see unexplained_redrive); an archived letter is written in place
    ('failed', 'approved'), ('failed', 'blocked'), ('failed', 'failed');

create view proof.illegal_step as
select l.job_id, l.seq, l.before, l.status from proof.life l
where not exists (select from proof.legal g where g.before is not distinct from l.before and g.after = l.status);

-- Whoever leaves `failed` is in the book of the redriven, written in the same transaction; and behind each entry of it stands the
-- audited act of somebody: this very transaction's, the redrive's, or the operation's.
create view proof.unexplained_redrive as
select l.job_id, l.seq, l.status from proof.life l
where l.before = 'failed' and l.status <> 'failed' and not exists (
    select from lanework.redriven r
    join lanework.audit_log a on a.target = 'redrive:' || r.redrive_id or a.target = 'operation:' || r.operation_id
        or a.xid = r.xid and a.act = 'job.retry'
    where r.job_id = l.job_id and r.xid = l.xid);

-- An attempt is a claim: it rises by one with each, and by nothing else.
create view proof.wrong_attempt as
select l.job_id, l.seq, l.attempt_before, l.attempt from proof.life l
where l.attempt <> coalesce(l.attempt_before, 0) + (l.status = 'running')::int
   or l.status = 'running' and (l.claim_id is null or l.worker_id is null or l.lane_id is null);

create view proof.wrong_try as
select l.job_id, l.seq, l.tries_before, l.tries_used, l.max_tries from proof.life l
where l.tries_used > l.max_tries
   or l.before is distinct from 'failed' and l.tries_used - coalesce(l.tries_before, 0) not in (0, 1)
   or l.before = 'failed' and l.status <> 'failed' and l.tries_used <> 0
   or l.status = 'running' and l.tries_used >= l.max_tries;

-- A row that leaves `jobs` arrives in the same transaction in one of the others, once; one that comes back has left the others.
create view proof.lost_or_doubled as
select h.job_id, h.xid from proof.history h
group by h.job_id, h.xid
having count(*) filter (where h.place = 'jobs' and h.status is null)
    <> count(*) filter (where h.place <> 'jobs' and h.was is null)
    or count(*) filter (where h.place = 'jobs_failed' and h.status is null)
    > count(*) filter (where h.place = 'jobs' and h.was is null);

-- Running jobs of a lane at each claim. A claim writes its history under the lane's lock and an end writes it before it
-- commits, so no order of commits makes this too high by accident.
create view proof.load as
select h.seq, h.job_id, h.lane_id, h.type_id, h.slots, h.concurrency, h.status,
       sum(case when h.status = 'running' then 1 else -1 end) over (partition by h.lane_id order by h.seq) as in_lane,
       sum(case when h.status = 'running' then 1 else -1 end) over (partition by h.type_id order by h.seq) as in_type
from proof.history h
where h.place = 'jobs' and (h.status = 'running') is distinct from (h.was = 'running') and 'running' in (h.status, h.was);
create view proof.over_slots as
select * from proof.load where status = 'running' and (in_lane > slots or in_type > concurrency);

-- Two claims may not share their number.
create view proof.claimed_twice as
select l.job_id, l.attempt from proof.life l where l.status = 'running' group by l.job_id, l.attempt having count(*) > 1;

-- A running row belongs to a claim that a living worker has, or that the next beat or reap finds.
create view proof.stranded as
select j.id from lanework.jobs j
where j.status = 'running' and not exists (
    select from lanework.claims c join lanework.workers w on w.id = c.worker_id
    where c.worker_id = j.worker_id and c.claim_id = j.claim_id and j.id = any (c.job_ids));

-- What a worker that has ended may not leave behind, once all its jobs are given back.
create view proof.leaked as
select 'lane_use' as what, u.worker_id from lanework.lane_use u join lanework.workers w on w.id = u.worker_id
where w.state in ('stopped', 'dead') and not exists (select from lanework.claims c where c.worker_id = w.id)
union all
select 'type_use', u.worker_id from lanework.type_use u join lanework.workers w on w.id = u.worker_id
where w.state in ('stopped', 'dead') and not exists (select from lanework.claims c where c.worker_id = w.id)
union all
select 'permit_use', u.worker_id from lanework.permit_use u join lanework.workers w on w.id = u.worker_id
where w.state in ('stopped', 'dead') and not exists (select from lanework.claims c where c.worker_id = w.id);

-- Nothing starts before an approval of exactly this payload.
create view proof.unapproved as select h.job_id, h.seq from proof.history h where h.unapproved;

-- What processes have of permits, as a sum of changes. A grant writes its change under the permit's lock, a lower number before
-- it commits: no order of commits makes this too high by accident.
create table proof.permit_changes (
    seq bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    permit_id int not null,
    worker_id bigint not null,
    change int not null,
    capacity int not null
);
create function proof.record_permit() returns trigger language plpgsql as $$
declare
    r record;
    v_change int := case when tg_op = 'INSERT' then new.used when tg_op = 'DELETE' then -old.used else new.used - old.used end;
begin
    if tg_op = 'DELETE' then r := old; else r := new; end if;
    if v_change <> 0 then
        insert into proof.permit_changes (permit_id, worker_id, change, capacity)
        values (r.permit_id, r.worker_id, v_change, coalesce((select p.capacity from lanework.permits p where p.id = r.permit_id), 0));
    end if;
    return null;
end $$;
create trigger record after insert or update or delete on lanework.permit_use for each row execute function proof.record_permit();
create view proof.over_permits as
select c.* from (
    select h.seq, h.permit_id, h.worker_id, h.change, h.capacity, sum(h.change) over (partition by h.permit_id order by h.seq) as total
    from proof.permit_changes h) c
where c.change > 0 and c.total > c.capacity or c.total < 0;

-- Money: what is spent and reserved is the sum of the reservations, and never over the amount.
create view proof.over_budget as
select s.name, s.since, s.spent, s.reserved from lanework.budget_spend s
cross join lateral (
    select coalesce(sum(case r.state when 'settled' then r.actual when 'unknown' then r.amount end), 0) as spent,
           coalesce(sum(case r.state when 'open' then r.amount end), 0) as reserved
    from lanework.reservations r, unnest(r.names, r.since) as n(name, since) where n.name = s.name and n.since = s.since) r
where s.spent <> r.spent or s.reserved <> r.reserved;

create view proof.complaints as
select 'illegal_step' as oracle, to_jsonb(v) as what from proof.illegal_step v
union all select 'unexplained_redrive', to_jsonb(v) from proof.unexplained_redrive v
union all select 'wrong_attempt', to_jsonb(v) from proof.wrong_attempt v
union all select 'wrong_try', to_jsonb(v) from proof.wrong_try v
union all select 'lost_or_doubled', to_jsonb(v) from proof.lost_or_doubled v
union all select 'over_slots', to_jsonb(v) from proof.over_slots v
union all select 'claimed_twice', to_jsonb(v) from proof.claimed_twice v
union all select 'stranded', to_jsonb(v) from proof.stranded v
union all select 'unapproved', to_jsonb(v) from proof.unapproved v
union all select 'leaked', to_jsonb(v) from proof.leaked v
union all select 'over_permits', to_jsonb(v) from proof.over_permits v
union all select 'over_budget', to_jsonb(v) from proof.over_budget v;

-- The audit log refuses to be emptied; who owns the server can still go around that, as here.
create function proof.forget_audit() returns void language plpgsql as $$
begin
    perform set_config('session_replication_role', 'replica', true);
    delete from lanework.audit_log;
    delete from lanework.audit_seals;
    perform set_config('session_replication_role', 'origin', true);
end $$;

create function proof.wipe(p_frozen boolean) returns void language plpgsql as $$
declare
    t text;
begin
    foreach t in array array['jobs', 'jobs_done', 'jobs_failed', 'keys', 'claims', 'lane_use', 'type_use', 'stops', 'progress',
                             'checkpoints', 'attempts', 'logs', 'rollups', 'error_rollups', 'silent_kinds', 'subscribers', 'workers', 'job_types',
                             'turns', 'steps', 'item_errors', 'children', 'families', 'waits', 'job_blobs', 'blobs',
                             'approval_rules', 'estimating', 'estimates', 'spending', 'approval_requests', 'approvals', 'edits',
                             'redrives', 'redriven', 'error_rules', 'notifiers', 'outbox', 'notified', 'notifications',
                             'operations', 'drains', 'freezes', 'events', 'schedules', 'ticks', 'maintenance_runs',
                             'permit_use', 'permit_holds', 'permit_waiters', 'permits', 'rates', 'budgets', 'budget_spend', 'reservations',
                             'budget_waits'] loop
        execute format('delete from lanework.%I', t);
    end loop;
    perform proof.forget_audit();
    delete from lanework.maintenance_tasks where kind = 'python';
    update lanework.maintenance_tasks set enabled = true, set_by = 'code', asked_by = null, running_until = null, job_id = null;
    delete from lanework.lanes where name <> 'default';
    update lanework.lanes set max_slots = 1, worker_slots = null, enabled = true;
    update lanework.leader set worker_id = null, term = 0, until = '-infinity';
    update lanework.facts set value = 0;
    update lanework.session_walk set after = '';
    delete from proof.history;
    delete from proof.permit_changes;
    update proof.clock set frozen = case when p_frozen then '2030-01-01Z'::timestamptz end, shift = '0';
end $$;
