select lanework.settle_reservation(%(id)s::uuid, %(actual)s::numeric)
