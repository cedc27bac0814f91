select name, kind, cron, every_s, tz, timeout_s, now from lanework.due_tasks()
