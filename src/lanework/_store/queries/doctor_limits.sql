select current_user::text, current_setting('statement_timeout') <> '0', current_setting('idle_in_transaction_session_timeout') <> '0',
       current_setting('default_transaction_isolation')
