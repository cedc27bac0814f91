update lanework.workers set state = 'draining', drained_by = null where id = %(worker)s and state in ('active', 'draining')
