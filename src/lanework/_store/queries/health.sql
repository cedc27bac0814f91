select current_setting('server_version_num')::int, current_setting('fsync') = 'on', current_setting('max_connections')::int,
       pg_notification_queue_usage()::float8,
       (select count(*)::int from lanework.workers where state in ('active', 'draining') and seen_at > lanework.now() - ttl),
       (select worker_id from lanework.leader where until > lanework.now())
