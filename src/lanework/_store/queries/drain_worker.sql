update lanework.workers set state = 'draining' where id = %(worker)s and state = 'active'
