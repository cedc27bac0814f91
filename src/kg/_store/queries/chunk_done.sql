update kg.documents set chunks_done = chunks_done + 1, stage = %(stage)s, updated_at = now() where id = %(id)s
