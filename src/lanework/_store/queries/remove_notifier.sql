select lanework.remove_notifier(%(name)s::text, %(by)s::text)
