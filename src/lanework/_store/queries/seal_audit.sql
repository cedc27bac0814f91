select lanework.seal_audit(%(limit)s)
