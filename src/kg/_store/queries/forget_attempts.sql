delete from kg.attempts where key = %(key)s
