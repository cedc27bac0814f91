select lanework.freeze(%(lanes)s::text[], %(by)s::text, %(reason)s::text, %(seconds)s::float8)
