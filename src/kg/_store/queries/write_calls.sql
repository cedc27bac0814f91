-- The tokens of a job's calls are added up beside its estimate, in the same transaction. Its money is already there: the reservations
-- have told it.
with told as materialized (
    select * from unnest(
        %(calls)s::uuid[], %(jobs)s::bigint[], %(owners)s::text[], %(providers)s::text[], %(models)s::text[], %(purposes)s::text[],
        %(tokens_in)s::bigint[], %(tokens_out)s::bigint[], %(costs)s::float8[], %(seconds)s::float8[], %(outcomes)s::text[]
    ) as t(call, job_id, owner, provider, model, purpose, tokens_in, tokens_out, cost, seconds, outcome)
),
written as (
    insert into kg.model_calls (call, job_id, owner, provider, model, purpose, tokens_in, tokens_out, cost, seconds, outcome)
    select * from told
    on conflict (call) do nothing
)
select lanework.spend(t.job_id, 'model-' || t.call, 0, 'USD', t.tokens_in + t.tokens_out, 1)
from told t where t.job_id is not null and t.tokens_in + t.tokens_out > 0
