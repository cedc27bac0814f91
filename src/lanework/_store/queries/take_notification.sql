select id, name, kind, url, secret, count, groups, tries, created_at, now from lanework.take_notification(%(notifier)s::int)
