select lanework.delete_job(%(id)s, %(by)s)
