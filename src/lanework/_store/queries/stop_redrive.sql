select lanework.stop_redrive(%(id)s::bigint, %(by)s::text, %(reason)s::text)
