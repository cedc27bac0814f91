update kg.answers set status = %(status)s, body = %(body)s where owner = %(owner)s and key = %(key)s
