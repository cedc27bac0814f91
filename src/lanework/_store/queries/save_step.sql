select lanework.save_step(%(id)s::bigint, %(attempt)s::int, %(claim)s::uuid, %(key)s::text, %(result)s::text, %(blob)s::text)
