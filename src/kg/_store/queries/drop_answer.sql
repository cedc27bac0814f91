delete from kg.answers where owner = %(owner)s and key = %(key)s and status is null
