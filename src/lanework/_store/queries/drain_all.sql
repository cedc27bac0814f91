select lanework.drain_all(%(by)s::text, %(reason)s::text)
