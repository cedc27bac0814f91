-- A submit in a transaction of its own: the job is committed, and only then somebody is told, in one round trip.
--
-- What follows the commit cannot take it back. Should it go wrong, the job waits for the next poll, or for the next sweep.
create procedure lanework.submit(
    inout id bigint, type text, payload jsonb, priority int, run_at timestamptz, idempotency_key text, owner text, tags text[],
    max_age interval, max_tries int, version int, session text, continues bigint, from_step text, hint boolean
)
language plpgsql as $$
begin
    id := lanework.enqueue(
        type, payload, priority, run_at, idempotency_key, owner, tags, max_age, max_tries, version, session, continues, from_step, false);
    commit;
    if session is not null then
        perform set_config('synchronous_commit', 'off', true); -- if this commit is lost, the sweep does it again
        begin
            perform lanework.promote_sessions(array[session]);
        exception when others then
            null;
        end;
    elsif hint then
        perform lanework.hint((select t.lane from lanework.job_types t where t.name = submit.type));
    end if;
end $$;
