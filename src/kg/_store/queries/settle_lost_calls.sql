-- Calls that no job makes, whose process has died: whether they were made nobody knows, so they count as spent. One that was only slow
-- settles it by itself, later, and better.
with lost as materialized (
    select r.id from lanework.reservations r
    where r.state = 'open' and r.at < lanework.now() - make_interval(secs => %(seconds)s) and r.job_id is null and r.worker_id is null
    order by r.at limit 500 for no key update skip locked
)
select count(lanework.settle_reservation(l.id, null)) from (select l.id from lost l order by l.id) l
