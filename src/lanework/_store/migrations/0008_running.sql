-- What is written while a job runs. The claim is kept, so its row is locked FOR SHARE under the guard (several such writes of
-- one job do not wait for each other, and whoever ends the claim waits for them), and the data goes to other tables.

create function lanework.held(p_ids bigint[], p_attempts int[], p_claims uuid[]) returns table (id bigint, attempt int)
language sql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    select j.id, j.attempt from unnest(p_ids, p_attempts, p_claims) as u(id, attempt, claim_id)
    join lanework.jobs j on j.id = u.id and j.attempt = u.attempt and j.claim_id = u.claim_id and j.status = 'running'
    order by j.id for share of j
$$;

-- Answers the ids whose claim still holds; the others' writes were refused.
create function lanework.write_progress(
    p_ids bigint[], p_attempts int[], p_claims uuid[], p_fractions real[], p_messages text[], p_data text[]
) returns setof bigint language sql volatile as $$
    with held as materialized (select h.id, h.attempt from lanework.held(p_ids, p_attempts, p_claims) h),
    written as (
        insert into lanework.progress as p (job_id, attempt, fraction, message, data, at)
        select u.id, u.attempt, u.fraction, u.message, u.data::jsonb, lanework.now()
        from unnest(p_ids, p_attempts, p_fractions, p_messages, p_data) as u(id, attempt, fraction, message, data)
        join held on held.id = u.id and held.attempt = u.attempt order by u.id
        on conflict (job_id) do update
        set attempt = excluded.attempt, fraction = excluded.fraction, message = excluded.message, data = excluded.data, at = excluded.at
    )
    select id from held
$$;

create function lanework.write_logs(
    p_ids bigint[], p_attempts int[], p_claims uuid[],
    l_jobs bigint[], l_attempts int[], l_streams text[], l_texts text[]
) returns setof bigint language sql volatile as $$
    with held as materialized (select h.id, h.attempt from lanework.held(p_ids, p_attempts, p_claims) h),
    written as (
        insert into lanework.logs (job_id, attempt, stream, text)
        select u.job, u.attempt, u.stream, u.text
        from unnest(l_jobs, l_attempts, l_streams, l_texts) with ordinality as u(job, attempt, stream, text, n)
        join held on held.id = u.job and held.attempt = u.attempt order by u.n
    )
    select id from held
$$;

create function lanework.save_checkpoint(p_id bigint, p_attempt int, p_claim uuid, p_state text) returns boolean
language plpgsql volatile as $$
begin
    perform lanework.held(array[p_id], array[p_attempt], array[p_claim]);
    if not found then return false; end if;
    insert into lanework.checkpoints as c (job_id, attempt, state, at)
    values (p_id, p_attempt, p_state::jsonb, lanework.now())
    on conflict (job_id) do update set attempt = excluded.attempt, state = excluded.state, at = excluded.at;
    return true;
end $$;
