select waiting, since, pid, database, application, started_at from lanework.event_horizon()
