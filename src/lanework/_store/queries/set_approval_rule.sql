select lanework.set_approval_rule(%(type)s, %(owner)s, %(policy)s, cast(%(above)s as numeric), cast(%(currency)s as text), cast(%(four_eyes)s as boolean), %(by)s)
