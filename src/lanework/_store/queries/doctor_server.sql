select current_setting('server_version_num')::int, current_setting('fsync'), current_setting('full_page_writes'),
       current_setting('synchronous_commit'), current_setting('autovacuum'), pg_is_in_recovery(),
       pg_notification_queue_usage()::float8, extract(epoch from clock_timestamp())::float8,
       current_setting('max_connections')::int,
       current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true), '0')::int,
       (select count(*)::int from pg_stat_activity where backend_type = 'client backend')
