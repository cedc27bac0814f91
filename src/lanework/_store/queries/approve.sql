select lanework.approve(%(id)s, %(hash)s, cast(%(limit)s as numeric), %(by)s)
