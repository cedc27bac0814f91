select regexp_replace(a.application_name, '^lanework-([0-9]+-)?', ''), count(*)::int,
       count(*) filter (where a.state <> 'idle')::int
from pg_stat_activity a
where a.datname = current_database() and a.application_name like 'lanework-%%' and a.pid <> pg_backend_pid()
group by 1 order by 1
