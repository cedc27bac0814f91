-- Moves the engine's clock, for tests only: a database must say in its name that it is one for tests.
create function lanework.move_time(p_body text) returns void
language plpgsql volatile as $$
begin
    if current_database() !~* 'test' then
        raise exception 'time is moved only in a database with "test" in its name, not in %', quote_ident(current_database())
            using errcode = 'LW100';
    end if;
    execute format(
        'create or replace function lanework.now() returns timestamptz language plpgsql stable parallel safe as %L', p_body);
end $$;
