-- History grows by ranges of a million ids, made ahead of need. The default partition catches what outran the maintainer:
-- a finish never fails for want of a partition.

create function lanework.extend_history(p_ahead int default 4) returns int
language plpgsql set lock_timeout = '100ms' as $$
declare
    v_top bigint := (select last_value / 1000000 from lanework.job_ids);
    v_part bigint;
    v_name text;
    v_made int := 0;
begin
    if not pg_try_advisory_xact_lock(1279350094, 1) then return 0; end if;
    for v_part in select generate_series(greatest(v_top - 1, 0), v_top + p_ahead) loop
        v_name := format('jobs_done_%s', to_char(v_part, 'FM000000'));
        continue when to_regclass('lanework.' || v_name) is not null;
        execute format('create table lanework.%I (like lanework.jobs_done including all)', v_name);
        execute format(
            'with moved as (delete from lanework.jobs_done_rest where id >= %s and id < %s returning *)
             insert into lanework.%I select * from moved',
            v_part * 1000000, (v_part + 1) * 1000000, v_name);
        execute format(
            'alter table lanework.jobs_done attach partition lanework.%I for values from (%s) to (%s)',
            v_name, v_part * 1000000, (v_part + 1) * 1000000);
        v_made := v_made + 1;
    end loop;
    return v_made;
end $$;

select lanework.extend_history();
