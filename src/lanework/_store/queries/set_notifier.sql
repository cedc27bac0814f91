select lanework.set_notifier(
    %(name)s::text, %(url)s::text, %(secret)s::text, %(enabled)s::boolean, %(every)s::int, %(by)s::text)
