"""`python -m kg.demo`: the platform on Lanework's own manual, with nothing but this checkout."""
