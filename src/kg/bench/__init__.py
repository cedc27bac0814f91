"""Repeatable measurements of the platform. Nothing imports this package but the command line."""
