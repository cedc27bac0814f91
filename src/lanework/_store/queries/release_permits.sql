select lanework.release_permits(%(token)s::uuid)
