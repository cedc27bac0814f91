select lanework.cancel(%(job)s, %(by)s, %(reason)s, true) from lanework.jobs where id = %(job)s
