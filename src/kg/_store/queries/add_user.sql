with added as (
    insert into kg.users (name, password) values (%(name)s, %(password)s) on conflict (name) do nothing returning id, name, created_at
), given as (
    insert into kg.user_roles (user_id, role) select a.id, r from added a cross join unnest(%(roles)s::text[]) r
)
select a.id, lanework.audit(%(by)s, 'user.add', 'user:' || a.name, null, jsonb_build_object('roles', %(roles)s::text[])) from added a
