"""The platform's own schema, beside the engine's."""

from __future__ import annotations

from importlib.resources import files

from lanework import Lanework, migrate
from lanework._store.connect import connect
from lanework.errors import SchemaError

FOLDER = files("kg") / "_store" / "migrations"


def prepare(work: Lanework) -> None:
    """The engine's schema, this application's types and lanes in it, then the platform's own schema."""
    dsn = work._ready().dsn
    with connect(work.settings.direct_dsn or dsn, work.settings, "setup") as conn:
        if migrate.is_current(conn, schema="kg", folder=FOLDER):
            return
        if work.settings.migrate == "check":
            raise SchemaError("the schema kg is older than this version needs; start once with LANEWORK_MIGRATE=auto")
        migrate.apply(conn, schema="kg", folder=FOLDER)
