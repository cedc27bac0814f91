select wait_s, unsettled, name, cron, every_s, tz, anchor, last_tick, revision, now from lanework.due_schedules(%(worker)s::bigint)
