-- Fewer calls for those who call a provider all the time. (Otherwise the two functions are those of 0019.)

-- A hold comes with 64 fences instead of 16: a process passes it on 63 times before it asks for another. Eight calls of a fifth of a
-- second, one after the other, asked every three seconds, all eight at once.
do $$
declare
    v_function text := pg_get_functiondef('lanework.take_permits(bigint, bigint, jsonb, jsonb)'::regprocedure);
begin
    if strpos(v_function, 'generate_series(1, 16 * v_most') = 0 then
        raise exception 'lanework.take_permits is not the one of the migrations before';
    end if;
    execute replace(v_function, 'generate_series(1, 16 * v_most', 'generate_series(1, 64 * v_most');
end $$;

-- Of what has no limit a slice has no end, but its time: nobody asks again because more of them call than a moment before.
do $$
declare
    v_function text := pg_get_functiondef('lanework.take_rate(text, float8, float8, float8, float8)'::regprocedure);
    v_asked constant text := 'requests := p_want_requests; tokens := p_want_tokens; wait_s := 0;';
begin
    if strpos(v_function, v_asked) = 0 then
        raise exception 'lanework.take_rate is not the one of the migrations before';
    end if;
    execute replace(v_function, v_asked, 'requests := ''infinity''; tokens := ''infinity''; wait_s := 0;');
end $$;
