select u.password from kg.users u where u.name = %(name)s and u.disabled_at is null
