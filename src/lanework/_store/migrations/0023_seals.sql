-- The audit log can be added to, nothing else; and a chain of hashes over its rows shows if somebody went around that.
--
-- Rows are chained afterwards, in (xid, id) order and only below the horizon of open transactions: two transactions that commit at
-- the same time have one order, and nothing can come in before what is sealed.

create table lanework.audit_seals (
    position bigint primary key,
    audit_id bigint not null unique,
    xid xid8 not null,
    seal bytea not null
);

create function lanework.refuse_change() returns trigger
language plpgsql as $$
begin
    raise exception 'the audit log is append-only: % of % is refused', lower(tg_op), tg_table_name using errcode = 'LW580';
end $$;
create trigger append_only before update or delete or truncate on lanework.audit_log
    for each statement execute function lanework.refuse_change();
create trigger append_only before update or delete or truncate on lanework.audit_seals
    for each statement execute function lanework.refuse_change();

create function lanework.seal_of(p_before bytea, a lanework.audit_log) returns bytea
language sql immutable as $$
    select sha256(p_before || convert_to(jsonb_build_array(
        a.id, a.xid::text, extract(epoch from a.at)::text, a.actor, a.act, a.target, a.before, a.after, a.origin)::text, 'UTF8'))
$$;

-- Seals what can be sealed, at most p_limit rows; answers how many were. One sealer at a time.
create function lanework.seal_audit(p_limit int default 1000) returns int
language plpgsql volatile as $$
declare
    v_last lanework.audit_seals%rowtype;
    v_seal bytea := '\x';
    v_position bigint := 0;
    v_count int := 0;
    a lanework.audit_log%rowtype;
begin
    if not pg_try_advisory_xact_lock(1279350094, 3) then return 0; end if;
    select * into v_last from lanework.audit_seals order by position desc limit 1;
    if found then
        v_seal := v_last.seal;
        v_position := v_last.position;
    end if;
    for a in
        select * from lanework.audit_log l
        where (l.xid, l.id) > (coalesce(v_last.xid, '0'::xid8), coalesce(v_last.audit_id, 0))
          and l.xid < pg_snapshot_xmin(pg_current_snapshot())
        order by l.xid, l.id limit p_limit
    loop
        v_seal := lanework.seal_of(v_seal, a);
        v_position := v_position + 1;
        v_count := v_count + 1;
        insert into lanework.audit_seals values (v_position, a.id, a.xid, v_seal);
    end loop;
    return v_count;
end $$;
create index on lanework.audit_log (xid, id);

-- Goes through the whole chain. `bad` is the first audit row that is not what was sealed (changed, gone, or put in between), `unsealed`
-- the tail that no seal covers yet, `head` the last seal: who keeps it elsewhere can also tell if the end of the log was cut off.
create function lanework.verify_audit() returns table (sealed bigint, unsealed bigint, bad bigint, head text)
language plpgsql stable as $$
declare
    v_seal bytea := '\x';
    v_sealed bigint := 0;
    v_bad bigint;
    s lanework.audit_seals%rowtype;
    a lanework.audit_log%rowtype;
begin
    for s in select * from lanework.audit_seals order by position loop
        select * into a from lanework.audit_log l where l.id = s.audit_id;
        if not found or s.position <> v_sealed + 1 or lanework.seal_of(v_seal, a) <> s.seal then
            v_bad := s.audit_id;
            exit;
        end if;
        v_seal := s.seal;
        v_sealed := v_sealed + 1;
    end loop;
    if v_bad is null then -- what was put in before the end of the chain would never be sealed
        select l.id into v_bad from lanework.audit_log l
        where (l.xid, l.id) < (s.xid, s.audit_id) and not exists (select from lanework.audit_seals x where x.audit_id = l.id)
        order by l.xid, l.id limit 1;
    end if;
    return query select v_sealed,
        (select count(*) from lanework.audit_log l where not exists (select from lanework.audit_seals x where x.audit_id = l.id)),
        v_bad, encode(v_seal, 'hex');
end $$;
