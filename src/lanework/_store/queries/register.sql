select id, name, lane from lanework.register(cast(%(types)s as jsonb), cast(%(lanes)s as jsonb))
