select set_config('statement_timeout', %(statement_timeout)s, false),
       set_config('lock_timeout', '10s', false),
       set_config('idle_in_transaction_session_timeout', '60s', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('tcp_keepalives_idle', '5', false),
       set_config('tcp_keepalives_interval', '2', false),
       set_config('tcp_keepalives_count', '3', false),
       set_config('client_connection_check_interval', '1s', false),
       case when %(modern)s then set_config('transaction_timeout', '120s', false) end
