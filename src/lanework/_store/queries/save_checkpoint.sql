select lanework.save_checkpoint(%(id)s::bigint, %(attempt)s::int, %(claim)s::uuid, %(state)s::text)
