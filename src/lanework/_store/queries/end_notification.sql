select lanework.end_notification(%(id)s::uuid, %(error)s::text)
