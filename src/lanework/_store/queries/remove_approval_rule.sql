select lanework.remove_approval_rule(%(type)s, %(owner)s, %(by)s)
