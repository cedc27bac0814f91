select lanework.save_blob(%(id)s::bigint, %(attempt)s::int, %(claim)s::uuid, %(hash)s::text, %(data)s::bytea)
