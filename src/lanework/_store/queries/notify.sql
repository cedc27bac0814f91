select pg_notify('lanework', %(payload)s)
