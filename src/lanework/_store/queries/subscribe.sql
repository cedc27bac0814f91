select lanework.subscribe(%(id)s::uuid, make_interval(secs => %(seconds)s))
