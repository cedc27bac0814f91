select pg_backend_pid(), current_setting('fsync') = 'on'
