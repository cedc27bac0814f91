select (select count(*) from lanework.jobs), (select count(*) from lanework.jobs where status = 'running'),
       (select count(*) from lanework.jobs_done), (select count(*) from lanework.jobs_failed),
       (select count(*) from lanework.workers where state in ('active', 'draining'))
