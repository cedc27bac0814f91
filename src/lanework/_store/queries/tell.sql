select lanework.tell(%(topic)s::text, %(kind)s::text, %(job)s::bigint, %(data)s::text::jsonb)
