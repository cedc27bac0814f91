select lanework.reject(%(id)s, %(reason)s, %(by)s)
