select 'session ' || a.pid, extract(epoch from clock_timestamp() - a.xact_start)::float8, coalesce(a.state, ''), coalesce(a.application_name, ''),
       format('select pg_terminate_backend(%%s)', a.pid)
from pg_stat_activity a
where a.xact_start < clock_timestamp() - make_interval(secs => %(older)s::float8) and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
union all
select 'prepared transaction ' || p.gid, extract(epoch from clock_timestamp() - p.prepared)::float8, 'prepared', p.owner::text,
       format('rollback prepared %%L', p.gid)
from pg_prepared_xacts p
where p.prepared < clock_timestamp() - make_interval(secs => %(older)s::float8)
order by 2 desc
