select lanework.ensure_permits(%(names)s::text[], %(capacities)s::int[])
