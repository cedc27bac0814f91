select lanework.promote_sessions(%(sessions)s::text[])
