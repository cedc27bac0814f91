-- A submit in a transaction of its own says that the job is stored before it tells anybody: what goes wrong after the commit, be it at
-- the very end of the call (a NOTIFY is carried out there), is not the submit's. (Otherwise the procedure is that of 0024.)
create or replace procedure lanework.submit(
    inout id bigint, type text, payload jsonb, priority int, run_at timestamptz, idempotency_key text, owner text, tags text[],
    max_age interval, max_tries int, version int, session text, continues bigint, from_step text, hint boolean
)
language plpgsql as $$
begin
    id := lanework.enqueue(
        type, payload, priority, run_at, idempotency_key, owner, tags, max_age, max_tries, version, session, continues, from_step, false);
    commit;
    if session is null and not hint then return; end if;
    raise info 'lanework.submitted' using detail = id; -- of all levels the one that always reaches the client
    begin
        if session is not null then
            perform set_config('synchronous_commit', 'off', true); -- if this commit is lost, the sweep does it again
            perform lanework.promote_sessions(array[session]);
        else
            perform lanework.hint((select t.lane from lanework.job_types t where t.name = submit.type));
        end if;
    exception when others then
        raise warning 'job % is stored, and nobody could be told: %', id, sqlerrm;
    end;
end $$;
