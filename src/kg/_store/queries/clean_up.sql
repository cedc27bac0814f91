-- What nobody can use any more: a week after its end, so that lists can still show it.
with credentials as (
    delete from kg.credentials c where c.id in (
        select x.id from kg.credentials x
        where least(x.revoked_at, x.expires_at) < now() - case when x.kind = 'token' then interval '90 days' else interval '7 days' end
        limit 10000) returning 1
), attempts as (
    delete from kg.attempts a where a.since < now() - interval '1 hour' returning 1
), answers as (
    delete from kg.answers a where a.created_at < now() - interval '7 days' returning 1
)
select (select count(*) from credentials) + (select count(*) from attempts) + (select count(*) from answers)
