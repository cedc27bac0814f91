delete from lanework.subscribers where id = %(id)s::uuid
