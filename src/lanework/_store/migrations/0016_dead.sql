-- Dead letters: groups, the way back, the archive, rules, and whom to tell.

-- What differs from one occurrence of an error to the next is taken out, so that equal errors have equal texts.
create function lanework.normalise_error(p_error text) returns text
language plpgsql immutable strict parallel safe as $$
declare
    e text := left(p_error, 2000);
begin
    e := regexp_replace(e, '\m[a-zA-Z][a-zA-Z0-9+.-]*://[^\s''"<>`]+', '<url>', 'g');
    e := regexp_replace(e, '[\w.+-]+@[\w-]+(?:\.[\w-]+)+', '<email>', 'g');
    e := regexp_replace(e, '"[^"]*"|`[^`]*`', '<text>', 'g');
    e := regexp_replace(e, '(?<!\w)[bBrRuUfF]?''[^'']*''(?!\w)', '<text>', 'g');
    e := regexp_replace(e, '\m[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\M', '<uuid>', 'g');
    e := regexp_replace(
        e, '\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d(?::?\d\d)?))?)?', '<time>', 'g');
    e := regexp_replace(e, '(?<![\w:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}(?![\w:])', '<address>', 'g');
    e := regexp_replace(e, '(?<![\w/>\\])(?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/][\w.@%+~=-]+)+[\\/]?', '<path>', 'g');
    -- hexadecimal and decimal numbers are one: a hash may happen to have no letter
    e := regexp_replace(e, '0[xX][0-9a-fA-F]+|\m(?=\w*\d)(?=\w*[a-fA-F])[0-9a-fA-F]{6,}\M', '<n>', 'g');
    e := regexp_replace(e, '(?:(?<!\w)[-+])?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?', '<n>', 'g');
    e := regexp_replace(e, '(<\w+>)(?:, ?\1)+', '\1', 'g');
    return left(btrim(regexp_replace(e, '\s+', ' ', 'g')), 500);
end $$;

create function lanework.fingerprint(p_type int, p_class text, p_error text) returns text
language plpgsql immutable strict parallel safe as $$
begin
    return left(encode(sha256(convert_to(
        p_type::text || ' ' || p_class || ' ' || lanework.normalise_error(p_error), 'UTF8')), 'hex'), 16);
end $$;

-- `letter` numbers dead letters, not jobs: a job that was redriven and died again is another letter. It is what a redrive counts
-- from, and what is told once.
create sequence lanework.letters;
alter table lanework.jobs_failed
    add column letter bigint not null default nextval('lanework.letters'),
    add column archived_at timestamptz,
    add column fingerprint text not null generated always as (lanework.fingerprint(type_id, error_class, error)) stored;
create unique index jobs_failed_letter on lanework.jobs_failed (letter);
create index jobs_failed_group on lanework.jobs_failed (fingerprint, letter) include (finished_at) where archived_at is null;
create index jobs_failed_archived on lanework.jobs_failed (archived_at) where archived_at is not null;

insert into lanework.lifetimes values
    ('archived', '30 days', 'archived dead letters, from when they were archived'),
    ('redrives', '90 days', 'redrives that have ended, and which jobs they moved'),
    ('notifications', '30 days', 'notifications that were sent or given up');

-- Counted from an index each time: a row per group that every failure updates would make failures wait for each other.
create view lanework.dead_groups as
select g.fingerprint, t.name as type, s.error_class, s.error_code, lanework.normalise_error(s.error) as message,
       g.count, g.first_seen, g.last_seen, s.id as sample, s.error as sample_error
from (
    select f.fingerprint, count(*) as count, min(f.finished_at) as first_seen, max(f.finished_at) as last_seen, max(f.letter) as newest
    from lanework.jobs_failed f where f.archived_at is null group by f.fingerprint) g
join lanework.jobs_failed s on s.letter = g.newest
left join lanework.job_types t on t.id = s.type_id;

-- -- The way back -----------------------------------------------------------------------------------------------------------------

-- A redrive of many: those that were dead before it started (`letter` up to `cutoff`) and match its filter.
create table lanework.redrives (
    id bigint generated always as identity primary key,
    state text not null check (state in ('canary', 'flowing', 'done', 'stopped', 'failed')),
    filter jsonb not null,
    cutoff bigint not null,
    position bigint not null default 0,
    per_minute int check (per_minute between 1 and 100000),
    credit_at timestamptz,
    canary bigint,
    canary_max_tries smallint,
    matched bigint not null,
    moved bigint not null default 0,
    started_by text not null,
    note text not null default '',
    started_at timestamptz not null default lanework.now(),
    ended_at timestamptz
);
create index redrives_active on lanework.redrives (id) where state in ('canary', 'flowing');
create index on lanework.redrives (canary) where canary is not null;

-- Which dead letter was moved back when, by whom, for which redrive or operation.
create table lanework.redriven (
    job_id bigint not null,
    letter bigint not null,
    xid xid8 not null default pg_current_xact_id(),
    at timestamptz not null,
    moved_by text not null,
    redrive_id bigint,
    operation_id bigint,
    primary key (job_id, letter)
);
create index on lanework.redriven (redrive_id) where redrive_id is not null;
create index on lanework.redriven (at);

-- Moves dead letters back into the queue: `attempt` goes on from where it was, tries and losses start again, steps and checkpoint
-- are where they were. A job of a session waits for its turn in it. A deadline that has passed is replaced by p_max_age, or by the
-- type's own from now on. All columns that both tables have come along, whoever adds one.
create function lanework.move_back(
    p_ids bigint[], p_who text, p_redrive bigint default null, p_operation bigint default null,
    p_max_tries smallint default null, p_max_age interval default null
) returns bigint[]
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_now timestamptz := lanework.now();
    v_ids bigint[] := array(select f.id from lanework.jobs_failed f where f.id = any (p_ids) order by f.id for update skip locked);
    v_columns text;
    v_sessions text[];
    v_types int[];
begin
    if v_ids = '{}' then return v_ids; end if;
    select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into v_columns
    from pg_attribute a
    where a.attrelid = 'lanework.jobs'::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      and a.attname not in ('status', 'run_at', 'deadline', 'claimed_at', 'worker_id', 'claim_id', 'max_tries', 'tries_used', 'losses',
                            'suspect', 'blocked_on')
      and exists (select from pg_attribute b where b.attrelid = 'lanework.jobs_failed'::regclass and b.attname = a.attname and not b.attisdropped);
    perform set_config('lanework.moves', 'redrive', true);
    execute format($move$
        with gone as (
            delete from lanework.jobs_failed f where f.id = any ($1) returning f.*
        ), noted as (
            insert into lanework.redriven (job_id, letter, at, moved_by, redrive_id, operation_id)
            select g.id, g.letter, $2, $3, $4, $5 from gone g
        ), back as (
            insert into lanework.jobs (%1$s, status, blocked_on, deadline, max_tries, suspect)
            select %1$s, case when g.session is null then 'approved' else 'blocked' end::lanework.job_status,
                   case when g.session is not null then 'session' end,
                   case when $7 is not null then $2 + $7 when g.deadline > $2 then g.deadline
                        when g.deadline is not null then $2 + (
                            select make_interval(secs => t.max_age_s) from lanework.job_types t where t.id = g.type_id) end,
                   coalesce($6, (select r.canary_max_tries from lanework.redrives r where r.canary = g.id order by r.id desc limit 1), g.max_tries),
                   g.suspect or g.losses > 0
            from gone g order by g.id
            returning session, type_id
        )
        select array_agg(distinct b.session) filter (where b.session is not null), array_agg(distinct b.type_id) from back b
        $move$, v_columns)
    into v_sessions, v_types using v_ids, v_now, p_who, p_redrive, p_operation, p_max_tries, p_max_age;
    perform set_config('lanework.moves', '', true);
    delete from lanework.stops s where s.job_id = any (v_ids);
    if v_sessions is not null then
        perform lanework.promote_sessions(v_sessions);
    end if;
    perform lanework.hint(l.lane) from (select distinct t.lane from lanework.job_types t where t.id = any (v_types) order by t.lane) l;
    return v_ids;
end $$;

-- Redrives one dead letter, archived or not. Answers its state.
create function lanework.retry(p_id bigint, p_by text default '', p_max_age interval default null) returns text
language plpgsql volatile as $$
declare
    f lanework.jobs_failed%rowtype;
    v_status text;
begin
    select * into f from lanework.jobs_failed where id = p_id for update;
    if not found then
        select status::text into v_status from lanework.all_jobs where id = p_id;
        if not found then
            raise exception 'there is no job %', p_id using errcode = 'LW310';
        end if;
        raise exception 'job % is %; only a failed job can be retried%', p_id, v_status,
            case when v_status in ('completed', 'cancelled') then ': submit one that continues it' else '' end using errcode = 'LW510';
    elsif p_max_age <= interval '0' then
        raise exception 'max_age: expected more than nothing, got %', p_max_age using errcode = 'LW511';
    end if;
    perform lanework.move_back(array[p_id], p_by, p_max_age => p_max_age);
    select j.status::text into v_status from lanework.jobs j where j.id = p_id;
    perform lanework.audit(p_by, 'job.retry', 'job:' || p_id,
        jsonb_build_object('status', 'failed', 'attempt', f.attempt, 'tries_used', f.tries_used, 'error_class', f.error_class, 'letter', f.letter),
        jsonb_build_object('status', v_status));
    return v_status;
end $$;

-- A value of a filter: one text, or a list of them.
create function lanework.texts_of(p_value jsonb) returns text[]
language sql immutable parallel safe as $$
    select case jsonb_typeof(p_value)
        when 'array' then array(select x from jsonb_array_elements_text(p_value) x)
        when 'string' then array[p_value #>> '{}'] when 'number' then array[p_value #>> '{}'] end
$$;

-- The jobs of dead letters that match a filter, in the order of their letters: the keys are those of operations by filter, and
-- `group`, a fingerprint. Archived ones match nothing.
create function lanework.dead_matching(p_filter jsonb, p_after bigint, p_upto bigint, p_limit bigint default null) returns setof bigint
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_types int[];
begin
    if not 'failed' = any (coalesce(lanework.texts_of(p_filter -> 'status'), '{failed}')) then return; end if;
    if p_filter ? 'type' or p_filter ? 'lane' then
        v_types := array(
            select t.id from lanework.job_types t
            where (not p_filter ? 'type' or t.name = any (lanework.texts_of(p_filter -> 'type')))
              and (not p_filter ? 'lane' or t.lane = any (lanework.texts_of(p_filter -> 'lane'))));
    end if;
    return query execute $match$
        select f.id from lanework.jobs_failed f
        where f.archived_at is null and f.letter > $1 and f.letter <= $2 $match$
        || case when p_filter ? 'group' then ' and f.fingerprint = $4' else '' end
        || case when p_filter ? 'ids' then ' and f.id = any ($5)' else '' end
        || case when v_types is not null then ' and f.type_id = any ($6)' else '' end
        || case when p_filter ? 'error_class' then ' and f.error_class = any ($7)' else '' end
        || case when p_filter ? 'owner' then ' and f.owner = any ($8)' else '' end
        || case when p_filter ? 'tag' then ' and f.tags && $9' else '' end
        || case when p_filter ? 'created_after' then ' and f.created_at > $10' else '' end
        || case when p_filter ? 'created_before' then ' and f.created_at < $11' else '' end
        || ' order by f.letter limit $3'
    using p_after, p_upto, p_limit, p_filter ->> 'group', lanework.texts_of(p_filter -> 'ids')::bigint[], v_types,
          lanework.texts_of(p_filter -> 'error_class'), lanework.texts_of(p_filter -> 'owner'), lanework.texts_of(p_filter -> 'tag'),
          (p_filter ->> 'created_after')::timestamptz, (p_filter ->> 'created_before')::timestamptz;
end $$;

create function lanework.check_dead_filter(p_filter jsonb) returns void
language plpgsql volatile as $$
declare
    v_unknown text;
begin
    if jsonb_typeof(p_filter) is distinct from 'object' or p_filter = '{}' then
        raise exception 'filter: say which dead letters: a group, or at least one of type, lane, owner, tag, error_class, created_after, created_before, ids'
            using errcode = 'LW511';
    end if;
    select k into v_unknown from jsonb_object_keys(p_filter) k
    where k not in ('group', 'status', 'type', 'lane', 'owner', 'tag', 'error_class', 'created_after', 'created_before', 'ids') limit 1;
    if found then
        raise exception 'filter: % is none of its keys', quote_literal(v_unknown) using errcode = 'LW511';
    end if;
end $$;

-- Starts a redrive of many, and takes its first step. Answers its number.
create function lanework.start_redrive(p_filter jsonb, p_canary boolean, p_per_minute int, p_by text) returns bigint
language plpgsql volatile as $$
declare
    v_cutoff bigint := (select last_value from lanework.letters);
    v_matched bigint;
    v_id bigint;
begin
    perform lanework.check_dead_filter(p_filter);
    if p_per_minute not between 1 and 100000 then
        raise exception 'per_minute: expected 1 to 100000, got %', p_per_minute using errcode = 'LW511';
    end if;
    perform pg_advisory_xact_lock(1279350094, 3);
    select r.id into v_id from lanework.redrives r
    where r.state in ('canary', 'flowing') and r.filter ->> 'group' = p_filter ->> 'group' limit 1;
    if found then
        raise exception 'group: % is being redriven already, by redrive %; wait for it, or stop it', p_filter ->> 'group', v_id
            using errcode = 'LW513';
    end if;
    select count(*) into v_matched from lanework.dead_matching(p_filter, 0, v_cutoff);
    if v_matched = 0 then
        raise exception 'no dead letter matches %', p_filter using errcode = 'LW512';
    end if;
    insert into lanework.redrives (state, filter, cutoff, per_minute, credit_at, matched, started_by)
    values (case when p_canary then 'canary' else 'flowing' end, p_filter, v_cutoff, p_per_minute,
            case when not p_canary then lanework.now() - make_interval(secs => 60.0 / p_per_minute) end, v_matched,
            coalesce(nullif(p_by, ''), 'unknown'))
    returning id into v_id;
    perform lanework.audit(p_by, 'dead.redrive', 'redrive:' || v_id, null,
        jsonb_build_object('filter', p_filter, 'canary', p_canary, 'per_minute', p_per_minute, 'matched', v_matched));
    perform lanework.carry_redrive(v_id);
    return v_id;
end $$;

-- One step of one redrive, bounded. Whoever takes it, and whoever dies in it: the row says what is next.
create function lanework.carry_redrive(p_id bigint) returns int
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
    r lanework.redrives%rowtype;
    v_found bigint[];
    v_ids bigint[];
    v_rest boolean := true;
    v_room int := 1000;
    v_end text;
    v_error text;
begin
    select * into r from lanework.redrives where id = p_id and state in ('canary', 'flowing') for update skip locked;
    if not found then return 0; end if;
    if r.state = 'canary' and r.canary is null then
        v_ids := array(select lanework.dead_matching(r.filter, 0, r.cutoff, 1));
        select f.max_tries into r.canary_max_tries from lanework.jobs_failed f where f.id = v_ids[1];
        select coalesce((select x.canary_max_tries from lanework.redrives x where x.canary = v_ids[1] order by x.id desc limit 1), r.canary_max_tries)
        into r.canary_max_tries;
        if v_ids = '{}' then
            update lanework.redrives set state = 'done', note = 'nothing was left', ended_at = v_now where id = p_id;
        elsif lanework.move_back(v_ids, r.started_by, p_id, null, 1::smallint) <> '{}' then
            update lanework.redrives set canary = v_ids[1], canary_max_tries = r.canary_max_tries, moved = 1 where id = p_id;
            return 1;
        end if;
        return 0;
    elsif r.state = 'canary' then
        if exists (select from lanework.jobs j where j.id = r.canary) then return 0; end if;
        select d.status::text into v_end from lanework.jobs_done d where d.id = r.canary;
        if v_end is distinct from 'completed' then
            select format('failed again as %s: %s', f.error_class, left(f.error, 300)) into v_error from lanework.jobs_failed f where f.id = r.canary;
            update lanework.redrives
            set state = 'failed', ended_at = v_now,
                note = format('the canary, job %s, %s; the other %s stay where they are', r.canary, coalesce('was ' || v_end, v_error, 'is gone'), r.matched - 1)
            where id = p_id;
            perform lanework.tell('operator', 'redrive.failed', null, jsonb_build_object('redrive', p_id, 'canary', r.canary));
            return 0;
        end if;
        r.credit_at := v_now - make_interval(secs => 60.0 / r.per_minute);
    end if;

    -- what a pause has not used is lost, but for ten seconds of it: a redrive that nobody carried for an hour does not flood
    if r.per_minute is not null then
        r.credit_at := greatest(r.credit_at, v_now - make_interval(secs => greatest(10.0, 60.0 / r.per_minute)));
        v_room := least(1000, floor(extract(epoch from v_now - r.credit_at) * r.per_minute / 60.0 + 0.001));
        r.credit_at := r.credit_at + make_interval(secs => v_room * 60.0 / r.per_minute);
    end if;
    update lanework.redrives set state = 'flowing', credit_at = r.credit_at where id = p_id;
    if v_room < 1 then return 0; end if;
    v_found := array(select lanework.dead_matching(r.filter, r.position, r.cutoff, v_room));
    r.position := (select max(f.letter) from lanework.jobs_failed f where f.id = any (v_found));
    v_ids := lanework.move_back(v_found, r.started_by, p_id);
    if cardinality(v_found) < v_room then
        v_rest := exists (select lanework.dead_matching(r.filter, 0, r.cutoff, 1));
        r.position := 0; -- what is left was locked when it came by
    end if;
    update lanework.redrives
    set position = r.position, moved = moved + cardinality(v_ids), state = case when v_rest then 'flowing' else 'done' end,
        ended_at = case when not v_rest then v_now end
    where id = p_id;
    return cardinality(v_ids);
end $$;

-- Everybody's share, each sweep.
create function lanework.carry_redrives() returns int
language plpgsql volatile as $$
declare
    v_id bigint;
    v_moved int := 0;
begin
    for v_id in select r.id from lanework.redrives r where r.state in ('canary', 'flowing') order by r.id limit 20 loop
        v_moved := v_moved + lanework.carry_redrive(v_id);
    end loop;
    return v_moved;
end $$;

create function lanework.stop_redrive(p_id bigint, p_by text, p_reason text default '') returns void
language plpgsql volatile as $$
declare
    r lanework.redrives%rowtype;
begin
    select * into r from lanework.redrives where id = p_id for update;
    if not found then
        raise exception 'there is no redrive %', p_id using errcode = 'LW512';
    elsif r.state not in ('canary', 'flowing') then
        raise exception 'redrive % has ended already: %', p_id, r.state using errcode = 'LW513';
    end if;
    update lanework.redrives
    set state = 'stopped', ended_at = lanework.now(), note = format('stopped by %s%s', coalesce(nullif(p_by, ''), 'unknown'), coalesce(': ' || nullif(p_reason, ''), ''))
    where id = p_id;
    perform lanework.audit(p_by, 'redrive.stop', 'redrive:' || p_id, jsonb_build_object('state', r.state, 'moved', r.moved),
                           jsonb_build_object('state', 'stopped', 'reason', p_reason));
end $$;

-- A piece of an operation by filter. Called outside of one, it is an act of its own.
create function lanework.carry_retry(p_ids bigint[], p_args jsonb, p_by text, p_operation bigint) returns int
language plpgsql volatile
set enable_seqscan = off
as $$
declare
    -- by filter, what is archived stays there
    v_moved bigint[] := lanework.move_back(
        array(select f.id from lanework.jobs_failed f where f.id = any (p_ids) and (p_operation is null or f.archived_at is null)),
        coalesce(nullif(p_by, ''), 'unknown'), null, p_operation, p_max_age => make_interval(secs => (p_args ->> 'max_age_s')::float8));
begin
    if p_operation is null and v_moved <> '{}' then
        perform lanework.audit(p_by, 'job.retry', 'jobs', null, jsonb_build_object('ids', v_moved));
    end if;
    return cardinality(v_moved);
end $$;

-- -- The archive ------------------------------------------------------------------------------------------------------------------

create function lanework.carry_archive(p_ids bigint[], p_args jsonb, p_by text, p_operation bigint) returns int
language plpgsql volatile as $$
declare
    v_ids bigint[] := array(
        select f.id from lanework.jobs_failed f where f.id = any (p_ids) and f.archived_at is null order by f.id for update skip locked);
begin
    update lanework.jobs_failed f set archived_at = lanework.now() where f.id = any (v_ids);
    if p_operation is null and v_ids <> '{}' then
        perform lanework.audit(p_by, 'dead.archive', 'jobs', null, jsonb_build_object('ids', v_ids));
    end if;
    return cardinality(v_ids);
end $$;

-- Takes dead letters out of the groups, without deleting them. In one transaction: nobody waits for rows of this table.
create function lanework.archive_dead(p_filter jsonb, p_by text, p_reason text default '') returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    v_count int;
begin
    perform lanework.check_dead_filter(p_filter);
    with chosen as materialized (
        select f.id from lanework.jobs_failed f
        where f.id = any (array(select lanework.dead_matching(p_filter, 0, (select last_value from lanework.letters)))) and f.archived_at is null
        order by f.id for update
    )
    update lanework.jobs_failed f set archived_at = lanework.now() from chosen c where f.id = c.id;
    get diagnostics v_count = row_count;
    if v_count = 0 then
        raise exception 'no dead letter matches %', p_filter using errcode = 'LW512';
    end if;
    perform lanework.audit(p_by, 'dead.archive',
        case when p_filter ? 'group' then 'group:' || (p_filter ->> 'group')
             when jsonb_array_length(coalesce(p_filter -> 'ids', '[]')) = 1 then 'job:' || (p_filter -> 'ids' ->> 0) else 'jobs' end,
        null, jsonb_build_object('filter', p_filter, 'archived', v_count, 'reason', p_reason));
    return v_count;
end $$;

-- -- Rules ------------------------------------------------------------------------------------------------------------------------

-- What an operator knows of an error that code does not: `pattern` is a LIKE pattern for the normalised message.
create table lanework.error_rules (
    id bigint generated always as identity primary key,
    type_id int,
    pattern text not null check (length(pattern) between 1 and 2000),
    error_class text not null check (error_class in ('permanent', 'transient', 'throttled')),
    set_by text not null,
    at timestamptz not null default lanework.now(),
    unique nulls not distinct (type_id, pattern)
);

-- For a group, or for a type (null: all) and a pattern.
create function lanework.set_error_rule(p_group text, p_type text, p_pattern text, p_class text, p_by text) returns bigint
language plpgsql volatile as $$
declare
    v_type int;
    v_pattern text := p_pattern;
    v_before jsonb;
    v_id bigint;
begin
    if p_class is null or p_class not in ('permanent', 'transient', 'throttled') then
        raise exception 'error_class: a rule says permanent, transient or throttled, got %', coalesce(quote_literal(p_class), 'nothing') using errcode = 'LW511';
    end if;
    if p_group is not null then
        select f.type_id, regexp_replace(lanework.normalise_error(f.error), '([\\%_])', '\\\1', 'g') into v_type, v_pattern
        from lanework.jobs_failed f where f.archived_at is null and f.fingerprint = p_group order by f.letter limit 1;
        if not found then
            raise exception 'group: there is no group % of dead letters', quote_literal(p_group) using errcode = 'LW512';
        end if;
    elsif p_type is not null then
        select t.id into v_type from lanework.job_types t where t.name = p_type;
        if not found then
            raise exception 'type: no job type is called %', quote_literal(p_type) using errcode = 'LW511';
        end if;
    end if;
    if coalesce(length(v_pattern), 0) not between 1 and 2000 then
        raise exception 'pattern: expected 1 to 2000 characters of a normalised message, with %% for any text' using errcode = 'LW511';
    end if;
    v_before := (select to_jsonb(r) from lanework.error_rules r where r.type_id is not distinct from v_type and r.pattern = v_pattern);
    insert into lanework.error_rules as r (type_id, pattern, error_class, set_by) values (v_type, v_pattern, p_class, coalesce(nullif(p_by, ''), 'unknown'))
    on conflict (type_id, pattern) do update set error_class = excluded.error_class, set_by = excluded.set_by, at = excluded.at
    returning id into v_id;
    perform lanework.audit(p_by, 'rule.set', 'rule:' || v_id, v_before, (select to_jsonb(r) from lanework.error_rules r where r.id = v_id));
    return v_id;
end $$;

create function lanework.remove_error_rule(p_id bigint, p_by text) returns void
language plpgsql volatile as $$
declare
    v_before jsonb := (select to_jsonb(r) from lanework.error_rules r where r.id = p_id);
begin
    delete from lanework.error_rules r where r.id = p_id;
    if not found then
        raise exception 'there is no rule %', p_id using errcode = 'LW512';
    end if;
    perform lanework.audit(p_by, 'rule.remove', 'rule:' || p_id, v_before, null);
end $$;

-- The verdicts as the rules have them. Only errors: a timeout of max_age, a crash loop, a cancel are not for rules to say.
create function lanework.apply_rules(p_ids bigint[], p_verdicts jsonb[]) returns jsonb[]
language plpgsql volatile as $$
begin
    return array(
        select case
            when r.id is null then u.v
            when r.error_class = 'permanent' then u.v || jsonb_build_object('action', 'fail', 'error_class', 'permanent', 'cause', 'rule ' || r.id)
            when r.error_class = 'throttled' then u.v || jsonb_build_object(
                'action', 'snooze', 'uses_try', false, 'error_class', 'throttled', 'cause', 'rule ' || r.id,
                'delay_s', least(greatest((u.v ->> 'delay_s')::float8, power(2, least(j.tries_used, 6))), 60) * (0.5 + 0.5 * random()))
            else u.v || jsonb_build_object(
                'action', 'retry', 'uses_try', true, 'error_class', 'transient', 'cause', 'rule ' || r.id,
                'delay_s', coalesce(nullif((u.v ->> 'delay_s')::float8, 0), least(power(2, least(j.tries_used, 12)), 3600) * (0.5 + 0.5 * random())))
            end
        from unnest(p_ids, p_verdicts) with ordinality as u(id, v, n)
        left join lateral (select j.type_id, j.tries_used from lanework.jobs j where j.id = u.id offset 0) j on true
        left join lateral (
            select e.id, e.error_class from (select lanework.normalise_error(u.v ->> 'error') as message offset 0) m
            join lanework.error_rules e on (e.type_id is null or e.type_id = j.type_id) and m.message like e.pattern
            where case e.error_class
                when 'permanent' then u.v ->> 'action' = 'retry' and u.v ->> 'error_class' in ('unknown', 'transient', 'timeout')
                when 'transient' then u.v ->> 'action' = 'fail' and u.v ->> 'error_class' in ('unknown', 'permanent', 'invalid_input')
                else u.v ->> 'action' in ('retry', 'fail') and u.v ->> 'error_class' in ('unknown', 'transient', 'permanent', 'invalid_input') end
            order by e.type_id nulls last, length(e.pattern) desc limit 1) r on u.v ->> 'action' in ('retry', 'fail')
        order by u.n);
end $$;

-- -- Whom to tell -----------------------------------------------------------------------------------------------------------------

-- `python`: a function of some application, by its name; `webhook`: an address that every worker can reach for.
create table lanework.notifiers (
    id int generated always as identity primary key,
    name text not null unique check (name ~ '^[a-z][a-z0-9_.-]{0,62}$'),
    kind text not null check (kind in ('python', 'webhook')),
    url text check ((kind = 'webhook') = (url is not null)),
    secret text,
    enabled boolean not null default true,
    every_s int not null default 60 check (every_s between 0 and 86400),
    max_tries int not null default 12 check (max_tries between 1 and 100),
    set_by text not null default 'code',
    job_id bigint,
    created_at timestamptz not null default lanework.now()
);

-- Dead letters that somebody has to be told of: written with the letter itself, in its transaction.
create table lanework.outbox (
    notifier_id int not null,
    fingerprint text not null,
    letter bigint not null,
    job_id bigint not null,
    type_id int not null,
    error_class text not null,
    error_code text,
    error text not null,
    at timestamptz not null,
    primary key (notifier_id, fingerprint, letter)
) with (autovacuum_vacuum_scale_factor = 0.01);

-- When a notifier was last told of a group: what comes within `every_s` waits, and is told together.
create table lanework.notified (
    notifier_id int not null,
    fingerprint text not null,
    at timestamptz not null,
    primary key (notifier_id, fingerprint)
);

-- One message: its id is what a receiver knows it by, however often it comes.
create table lanework.notifications (
    id uuid primary key default gen_random_uuid(),
    seq bigint generated always as identity,
    notifier_id int not null,
    state text not null default 'pending' check (state in ('pending', 'sent', 'failed')),
    count int not null,
    letters bigint[] not null,
    groups jsonb not null,
    tries int not null default 0,
    next_at timestamptz not null,
    created_at timestamptz not null,
    ended_at timestamptz,
    last_error text
);
create index notifications_pending on lanework.notifications (notifier_id, next_at) where state = 'pending';
create index on lanework.notifications (ended_at) where state <> 'pending';

create function lanework.note_dead_letters() returns trigger
language plpgsql as $$
begin
    if not exists (select from lanework.notifiers n where n.enabled) then return null; end if;
    insert into lanework.outbox (notifier_id, fingerprint, letter, job_id, type_id, error_class, error_code, error, at)
    select n.id, a.fingerprint, a.letter, a.id, a.type_id, a.error_class, a.error_code, left(a.error, 1000), a.finished_at
    from added a
    join lanework.job_types t on t.id = a.type_id and t.name not like 'lanework:notify%' -- about a message that cannot be sent no message is sent
    cross join lanework.notifiers n where n.enabled
    order by n.id, a.fingerprint, a.letter;
    return null;
end $$;
create trigger note_dead_letters after insert on lanework.jobs_failed
    referencing new table as added for each statement execute function lanework.note_dead_letters();

-- Makes messages of what is in the outbox, one for each notifier with all its groups that are due, and sees that a job is there to
-- send what waits. Plain SQL: the functions run where somebody has them.
create function lanework.gather_notifications(p_limit int default 10000) returns int
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
    n lanework.notifiers%rowtype;
    v_type text;
    v_made int := 0;
begin
    if not exists (select from lanework.outbox)
       and not exists (select from lanework.notifications x where x.state = 'pending' and x.next_at <= v_now) then
        return 0;
    end if;
    if not pg_try_advisory_xact_lock(1279350094, 4) then return 0; end if;
    for n in select * from lanework.notifiers x where x.enabled order by x.id loop
        with waiting as (
            select distinct o.fingerprint from lanework.outbox o where o.notifier_id = n.id
        ), due as materialized (
            select w.fingerprint from waiting w
            where not exists (
                select from lanework.notified d
                where d.notifier_id = n.id and d.fingerprint = w.fingerprint and d.at > v_now - make_interval(secs => n.every_s))
            order by w.fingerprint limit 500
        ), taken as (
            delete from lanework.outbox o
            where (o.notifier_id, o.fingerprint, o.letter) in (
                select x.notifier_id, x.fingerprint, x.letter from lanework.outbox x
                where x.notifier_id = n.id and x.fingerprint in (select d.fingerprint from due d) order by x.letter limit p_limit)
            returning o.*
        ), stamped as (
            insert into lanework.notified as d (notifier_id, fingerprint, at)
            select distinct n.id, t.fingerprint, v_now from taken t order by t.fingerprint
            on conflict (notifier_id, fingerprint) do update set at = excluded.at
        ), grouped as (
            select jsonb_build_object(
                       'fingerprint', t.fingerprint, 'type', (select y.name from lanework.job_types y where y.id = min(t.type_id)),
                       'error_class', min(t.error_class), 'error_code', max(t.error_code),
                       'message', lanework.normalise_error(min(t.error)), 'error', (array_agg(t.error order by t.letter desc))[1],
                       'count', count(*), 'first_seen', min(t.at), 'last_seen', max(t.at), 'sample', (array_agg(t.job_id order by t.letter desc))[1],
                       'job_ids', to_jsonb((array_agg(t.job_id order by t.letter))[1:100])) as body, count(*) as size
            from taken t group by t.fingerprint
        )
        insert into lanework.notifications (notifier_id, count, letters, groups, next_at, created_at)
        select n.id, sum(g.size), (select array_agg(t.letter order by t.letter) from taken t), jsonb_agg(g.body order by g.size desc), v_now, v_now
        from grouped g having count(*) > 0;
        if found then v_made := v_made + 1; end if;
        update lanework.notifications x set state = 'failed', ended_at = v_now, last_error = coalesce(x.last_error, 'whoever sent it died each time')
        where x.notifier_id = n.id and x.state = 'pending' and x.next_at <= v_now and x.tries >= n.max_tries;
        v_type := 'lanework:notify' || case when n.kind = 'python' then ':' || n.name else '' end;
        if exists (select from lanework.notifications x where x.notifier_id = n.id and x.state = 'pending' and x.next_at <= v_now)
           and not exists (select from lanework.jobs j where j.id = n.job_id)
           and exists (select from lanework.job_types t where t.name = v_type) then
            update lanework.notifiers x set job_id = lanework.enqueue(v_type, jsonb_build_object('notifier', n.id)) where x.id = n.id;
        end if;
    end loop;
    return v_made;
end $$;

-- The next message to send, if one is due. Taking it is a try, and keeps others from it for a while: who dies with it has tried.
create function lanework.take_notification(p_notifier int)
returns table (id uuid, name text, kind text, url text, secret text, count int, groups jsonb, tries int, created_at timestamptz, now timestamptz)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
begin
    return query
        with next as (
            select x.id from lanework.notifications x join lanework.notifiers n on n.id = x.notifier_id
            where x.notifier_id = p_notifier and x.state = 'pending' and x.next_at <= v_now and n.enabled and x.tries < n.max_tries
            order by x.seq limit 1 for update of x skip locked
        )
        update lanework.notifications x set tries = x.tries + 1, next_at = v_now + make_interval(secs => least(3600, 30 * power(2, x.tries)))
        from next, lanework.notifiers n where x.id = next.id and n.id = x.notifier_id
        returning x.id, n.name, n.kind, n.url, n.secret, x.count, x.groups, x.tries, x.created_at, v_now;
end $$;

-- How a try ended: p_error is null when it was taken.
create function lanework.end_notification(p_id uuid, p_error text) returns text
language plpgsql volatile as $$
declare
    v_now timestamptz := lanework.now();
    v_state text;
begin
    update lanework.notifications x
    set state = case when p_error is null then 'sent' when x.tries >= n.max_tries then 'failed' else 'pending' end,
        ended_at = case when p_error is null or x.tries >= n.max_tries then v_now end, last_error = left(p_error, 1000),
        next_at = case when p_error is null then x.next_at else v_now + make_interval(secs => least(3600, 5 * power(2, x.tries - 1))) end
    from lanework.notifiers n where x.id = p_id and x.state = 'pending' and n.id = x.notifier_id
    returning x.state into v_state;
    return v_state;
end $$;

-- What code declares: first values, and its own later ones as long as no operator has set the row.
create function lanework.register_notifiers(p_notifiers jsonb) returns void
language plpgsql volatile as $$
begin
    insert into lanework.notifiers as n (name, kind, url, secret, every_s)
    select x.name, x.kind, x.url, x.secret, coalesce(x.every_s, 60)
    from jsonb_to_recordset(p_notifiers) as x(name text, kind text, url text, secret text, every_s int) order by x.name
    on conflict (name) do update set kind = excluded.kind, url = excluded.url, secret = excluded.secret, every_s = excluded.every_s
    where n.set_by = 'code' and (n.kind, n.url, n.secret, n.every_s) is distinct from (excluded.kind, excluded.url, excluded.secret, excluded.every_s);
end $$;

-- A notifier as an operator wants it; null leaves as it is. The secret is written nowhere else.
create function lanework.set_notifier(p_name text, p_url text, p_secret text, p_enabled boolean, p_every_s int, p_by text) returns void
language plpgsql volatile as $$
declare
    v_before jsonb;
begin
    select to_jsonb(n) - 'secret' into v_before from lanework.notifiers n where n.name = p_name for update;
    if v_before is null and p_url is null then
        raise exception 'name: there is no notifier %', coalesce(quote_literal(p_name), 'null') using errcode = 'LW512';
    elsif p_name !~ '^[a-z][a-z0-9_.-]{0,62}$' then
        raise exception 'name: expected small letters, digits, ''_'', ''.'' or ''-'', at most 63 of them, got %', quote_literal(p_name) using errcode = 'LW511';
    elsif p_url is not null and p_url !~* '^https?://[^\s/@]+(/|$)' then
        raise exception 'url: expected http://… or https://… without a user in it' using errcode = 'LW511';
    elsif p_url is not null and v_before ->> 'kind' = 'python' then
        raise exception 'url: % is a function, not a webhook', quote_literal(p_name) using errcode = 'LW511';
    elsif p_every_s not between 0 and 86400 then
        raise exception 'every: expected 0 to 86400 seconds, got %', p_every_s using errcode = 'LW511';
    end if;
    if v_before is null then
        insert into lanework.notifiers (name, kind, url, secret, enabled, every_s, set_by)
        values (p_name, 'webhook', p_url, p_secret, coalesce(p_enabled, true), coalesce(p_every_s, 60), coalesce(nullif(p_by, ''), 'operator'));
    else
        update lanework.notifiers n
        set url = coalesce(p_url, n.url), secret = coalesce(p_secret, n.secret), enabled = coalesce(p_enabled, n.enabled),
            every_s = coalesce(p_every_s, n.every_s), set_by = coalesce(nullif(p_by, ''), 'operator')
        where n.name = p_name;
    end if;
    perform lanework.audit(p_by, 'notifier.set', 'notifier:' || p_name, v_before,
                           (select to_jsonb(n) - 'secret' from lanework.notifiers n where n.name = p_name));
end $$;

create function lanework.remove_notifier(p_name text, p_by text) returns void
language plpgsql volatile as $$
declare
    v_id int;
    v_before jsonb;
begin
    delete from lanework.notifiers n where n.name = p_name returning n.id, to_jsonb(n) - 'secret' into v_id, v_before;
    if v_id is null then
        raise exception 'name: there is no notifier %', coalesce(quote_literal(p_name), 'null') using errcode = 'LW512';
    end if;
    delete from lanework.outbox o where o.notifier_id = v_id;
    delete from lanework.notified d where d.notifier_id = v_id;
    update lanework.notifications x set state = 'failed', ended_at = lanework.now(), last_error = 'its notifier was removed'
    where x.notifier_id = v_id and x.state = 'pending';
    perform lanework.audit(p_by, 'notifier.remove', 'notifier:' || p_name, v_before, null);
end $$;

-- -- Retention --------------------------------------------------------------------------------------------------------------------

create function lanework.prune_dead(p_limit int) returns table (thing text, removed int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    v_now timestamptz := lanework.now();
begin
    return query
    with gone as (
        delete from lanework.jobs_failed f where f.id in (
            select x.id from lanework.jobs_failed x where x.archived_at < v_now - lanework.keep('archived') order by x.archived_at limit p_limit)
        returning f.id),
    tries as (delete from lanework.attempts a using gone where a.job_id = gone.id)
    select 'archived', count(*)::int from gone having count(*) > 0;
    delete from lanework.redriven r where (r.job_id, r.letter) in (
        select x.job_id, x.letter from lanework.redriven x where x.at < v_now - lanework.keep('redrives') order by x.at limit p_limit);
    return query
    with gone as (
        delete from lanework.redrives r where r.state not in ('canary', 'flowing') and r.ended_at < v_now - lanework.keep('redrives') returning 1)
    select 'redrives', count(*)::int from gone having count(*) > 0;
    return query
    with gone as (
        delete from lanework.notifications x where x.id in (
            select y.id from lanework.notifications y where y.state <> 'pending' and y.ended_at < v_now - lanework.keep('notifications') limit p_limit) returning 1)
    select 'notifications', count(*)::int from gone having count(*) > 0;
    delete from lanework.notified d where d.at < v_now - interval '1 day';
end $$;
