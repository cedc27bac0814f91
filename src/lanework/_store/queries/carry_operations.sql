select lanework.carry_operations(%(id)s::bigint)
