"""A short, real tour of the engine: `python -m lanework.demo`.

It starts its own PostgreSQL and real workers, kills one of them, and checks what the database says afterwards. If
anything does not happen as it should, it says so and exits with 1.
"""
