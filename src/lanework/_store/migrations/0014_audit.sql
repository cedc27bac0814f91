-- What operators did, and what is worth telling: two append-only logs, written in the transaction of what they tell of.

-- Who, what, on what, before and after, from where. `xid` and `id` give the rows an order in which they can be sealed later.
create table lanework.audit_log (
    id bigint generated always as identity primary key,
    xid xid8 not null default pg_current_xact_id(),
    at timestamptz not null default lanework.now(),
    actor text not null,
    act text not null,
    target text not null,
    before jsonb,
    after jsonb,
    origin text not null default ''
);

-- Events. A change of state of many jobs at once is one row: `job_ids` has them, or `job_range` if they follow each other.
-- `job_id` is for what is told of one job alone. Ranges of ids are partitions: old ones leave whole, and the default one
-- catches what outran their making, so that an event can never fail for want of one.
create sequence lanework.event_ids;
create table lanework.events (
    id bigint not null default nextval('lanework.event_ids'),
    xid xid8 not null default pg_current_xact_id(),
    at timestamptz not null default lanework.now(),
    topic text not null,
    kind text not null,
    job_id bigint,
    job_ids bigint[],
    job_range int8range,
    data jsonb,
    -- the order of the stream; see `read_events`
    primary key (xid, id)
) partition by range (id);
create index events_job on lanework.events (job_id, id) where job_id is not null;
-- a batch of a thousand ids stays in its row: to compress it would cost more than to tell of it
create table lanework.events_rest partition of lanework.events default with (toast_tuple_target = 8160);

-- What is not told: one kind of a topic, or all of it ('*').
create table lanework.silent_kinds (
    topic text not null,
    kind text not null default '*',
    primary key (topic, kind)
);

-- One event. Events of one job are written by whoever holds its row (or, for a stop of a running job, its row in `stops`), with
-- the id taken after that lock: within a job the order of ids is the order of commits.
create function lanework.tell(p_topic text, p_kind text, p_job bigint default null, p_data jsonb default null) returns void
language sql volatile as $$
    insert into lanework.events (topic, kind, job_id, data)
    select p_topic, p_kind, p_job, p_data
    where not exists (select from lanework.silent_kinds s where s.topic = p_topic and s.kind in (p_kind, '*'))
$$;

-- One row per act, in the transaction that carries it out. `act` is `noun.verb` (`lane.set`, `job.cancel`), `target` names the
-- thing (`lane:books`, `job:17`). Where the act came from is the setting `lanework.origin` of its transaction, if there is one.
create function lanework.audit(p_actor text, p_act text, p_target text, p_before jsonb default null, p_after jsonb default null)
returns bigint language plpgsql volatile as $$
declare
    v_id bigint;
begin
    insert into lanework.audit_log (actor, act, target, before, after, origin)
    values (coalesce(nullif(p_actor, ''), 'unknown'), p_act, p_target, p_before, p_after,
            coalesce(nullif(current_setting('lanework.origin', true), ''), current_setting('application_name', true), ''))
    returning id into v_id;
    perform lanework.tell('operator', p_act, case when p_target like 'job:%' then substr(p_target, 5)::bigint end,
                          jsonb_build_object('actor', p_actor, 'target', p_target));
    return v_id;
end $$;
