"""HTTP: a thin edge over the services."""
