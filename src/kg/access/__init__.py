"""Users, roles, credentials: who may do what."""
