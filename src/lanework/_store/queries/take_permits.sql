select ask, granted, fences, names from lanework.take_permits(%(worker)s::bigint, %(call)s::bigint, %(state)s::jsonb, %(asks)s::jsonb)
