select lanework.release_reservation(%(id)s::uuid)
