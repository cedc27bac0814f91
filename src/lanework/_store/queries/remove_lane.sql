select lanework.remove_lane(%(name)s::text, %(move_to)s::text, %(by)s::text)
