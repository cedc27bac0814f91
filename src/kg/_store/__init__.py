"""The only place of the platform that talks to PostgreSQL."""
