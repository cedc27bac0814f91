update kg.documents set text_hash = %(hash)s, characters = %(characters)s, title = %(title)s, stage = 'chunk', updated_at = now()
where id = %(id)s and version = %(version)s returning id
