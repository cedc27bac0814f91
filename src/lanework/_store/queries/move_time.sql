select lanework.move_time(cast(%(body)s as text))
