-- Somebody can always let others in: an act that would leave no administrator is refused. (Otherwise the functions are those of 0001.)

-- Is there anybody who may manage users and roles, and is let in?
create function kg.has_admin() returns boolean language sql stable as $$
    select exists (
        select from kg.users u
        where u.disabled_at is null and 2 = (
            select count(distinct p.permission)
            from kg.user_roles r join kg.role_permissions p on p.role = r.role
            where r.user_id = u.id and p.scope = 'all' and p.permission in ('users:manage', 'roles:manage')))
$$;

-- Whoever takes rights away asks before and after. One at a time: two administrators who demote each other in the same moment would
-- each still see the other.
create function kg.guard_admin() returns boolean language plpgsql volatile as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('kg.administrators', 0));
    return kg.has_admin();
end $$;

create function kg.keep_admin(p_had boolean) returns void language plpgsql volatile as $$
begin
    if p_had and not kg.has_admin() then
        raise exception 'nobody would be left who may manage users and roles; make another administrator first' using errcode = 'KG113';
    end if;
end $$;

create or replace function kg.set_user(p_name text, p_password text, p_roles text[], p_disabled boolean, p_by text) returns boolean
language plpgsql volatile as $$
declare
    u kg.users%rowtype;
    v_before text[];
    v_had boolean;
begin
    v_had := kg.guard_admin();
    select * into u from kg.users where name = p_name for update;
    if not found then return false; end if;
    v_before := array(select role from kg.user_roles where user_id = u.id order by role);
    update kg.users set password = coalesce(p_password, password),
        disabled_at = case when p_disabled is null then disabled_at when p_disabled then coalesce(disabled_at, now()) end
    where id = u.id;
    if p_roles is not null then
        delete from kg.user_roles where user_id = u.id and role <> all (p_roles);
        insert into kg.user_roles (user_id, role) select u.id, r from unnest(p_roles) r on conflict do nothing;
    end if;
    perform kg.keep_admin(v_had);
    if p_password is not null or p_disabled then -- whoever was in, is out
        update kg.credentials set revoked_at = now()
        where user_id = u.id and revoked_at is null and (kind <> 'token' or p_disabled);
    end if;
    perform lanework.audit(p_by, 'user.set', 'user:' || p_name,
        jsonb_build_object('roles', v_before, 'disabled', u.disabled_at is not null),
        jsonb_build_object('roles', coalesce(p_roles, v_before), 'disabled', coalesce(p_disabled, u.disabled_at is not null),
                           'password', case when p_password is not null then 'changed' end));
    return true;
end $$;

create or replace function kg.set_role(p_name text, p_description text, p_permissions text[], p_scopes text[], p_by text) returns void
language plpgsql volatile as $$
declare
    v_had boolean := kg.guard_admin();
    v_before jsonb;
begin
    v_before := (select jsonb_agg(permission || ' ' || scope order by permission, scope) from kg.role_permissions where role = p_name);
    insert into kg.roles (name, description) values (p_name, coalesce(p_description, ''))
    on conflict (name) do update set description = coalesce(p_description, kg.roles.description);
    delete from kg.role_permissions where role = p_name;
    insert into kg.role_permissions (role, permission, scope)
    select distinct p_name, x.permission, x.scope from unnest(p_permissions, p_scopes) as x(permission, scope);
    perform kg.keep_admin(v_had);
    perform lanework.audit(p_by, 'role.set', 'role:' || p_name, v_before,
        (select jsonb_agg(permission || ' ' || scope order by permission, scope) from kg.role_permissions where role = p_name));
end $$;

create or replace function kg.remove_role(p_name text, p_by text) returns boolean
language plpgsql volatile as $$
declare
    v_had boolean := kg.guard_admin();
begin
    delete from kg.roles where name = p_name and not built_in;
    if not found then return false; end if;
    perform kg.keep_admin(v_had);
    perform lanework.audit(p_by, 'role.remove', 'role:' || p_name);
    return true;
end $$;
