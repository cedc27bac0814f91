-- Ranges of a million ids are made ahead of need, of finished jobs and of events alike. The default partition (`…_rest`) catches what
-- outran their making: nothing ever fails for want of one.

-- Makes what is missing of the ranges from p_behind before the last id of p_ids to p_ahead after it. One at a time makes them (p_lock).
create function lanework.extend_ranges(
    p_table text, p_ids regclass, p_lock int, p_behind int, p_ahead int, p_digits text, p_options text default ''
) returns int
language plpgsql set lock_timeout = '100ms' as $$
declare
    v_top bigint;
    v_part bigint;
    v_name text;
    v_made int := 0;
begin
    if not pg_try_advisory_xact_lock(1279350094, p_lock) then return 0; end if;
    execute format('select last_value / 1000000 from %s', p_ids) into v_top;
    for v_part in select generate_series(greatest(v_top - p_behind, 0), v_top + p_ahead) loop
        v_name := p_table || '_' || to_char(v_part, p_digits);
        continue when to_regclass('lanework.' || v_name) is not null;
        execute format('create table lanework.%I (like lanework.%I including all) %s', v_name, p_table, p_options);
        execute format(
            'with moved as (delete from lanework.%I where id >= %s and id < %s returning *) insert into lanework.%I select * from moved',
            p_table || '_rest', v_part * 1000000, (v_part + 1) * 1000000, v_name);
        execute format(
            'alter table lanework.%I attach partition lanework.%I for values from (%s) to (%s)',
            p_table, v_name, v_part * 1000000, (v_part + 1) * 1000000);
        v_made := v_made + 1;
    end loop;
    return v_made;
exception when lock_not_available then
    return 0; -- somebody is writing into the rest; the next round is soon
end $$;

create or replace function lanework.extend_history(p_ahead int default 4) returns int
language sql volatile as $$
    select lanework.extend_ranges('jobs_done', 'lanework.job_ids', 1, 1, p_ahead, 'FM000000')
$$;

create or replace function lanework.extend_events(p_ahead int default 3) returns int
language sql volatile as $$
    select lanework.extend_ranges('events', 'lanework.event_ids', 3, 0, p_ahead, 'FM000000000', 'with (toast_tuple_target = 8160)')
$$;
