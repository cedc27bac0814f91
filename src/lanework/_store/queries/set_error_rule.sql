select lanework.set_error_rule(%(group)s::text, %(type)s::text, %(pattern)s::text, %(error_class)s::text, %(by)s::text)
