select lanework.freeze_for(%(id)s::bigint, %(attempt)s::int, %(claim)s::uuid, %(lanes)s::text[], %(reason)s::text)
