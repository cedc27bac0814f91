select set_config('statement_timeout', %(limit)s, true), set_config('idle_in_transaction_session_timeout', %(limit)s, true),
       case when current_setting('server_version_num')::int >= 170000 -- off first: a limit that runs already is not replaced
            then set_config('transaction_timeout', '0', true) || set_config('transaction_timeout', %(limit)s, true) end,
       (select count(*) from lanework.held(array[%(id)s::bigint], array[%(attempt)s::int], array[%(claim)s::uuid]))
