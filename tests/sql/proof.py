"""The instruments of `instruments.sql`: the clock that tests move, the oracles, and planted bugs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.sql.engine import Connection, Engine, connect

INSTRUMENTS = Path(__file__).with_name("instruments.sql")


def instrument(db: Connection, *, frozen: bool = False) -> None:
    """Adds clock, history and oracles. Frozen time stands still until `move`."""
    db.execute(INSTRUMENTS.read_bytes())
    # nobody is reaped until one expiry (here 1 s) after the server's start
    db.execute("select pg_sleep(1.1 - extract(epoch from clock_timestamp() - pg_postmaster_start_time()))")
    if frozen:
        db.execute("update proof.clock set frozen = '2030-01-01Z'")


def instrumented(dsn: str, *, frozen: bool = False) -> Engine:
    engine = Engine(connect(dsn))
    instrument(engine.db, frozen=frozen)
    return engine


def move(engine: Engine, **by: float) -> None:
    engine.rows("update proof.clock set shift = shift + %s", timedelta(**by))


def complaints(engine: Engine) -> list[dict[str, Any]]:
    """What the oracles hold against the history so far; the first few are enough."""
    return engine.rows("select oracle, what from proof.complaints limit 5")


def plant(engine: Engine, function: str, right: str, wrong: str) -> None:
    """A bug: replaces a piece of the text of one of the engine's functions, in this database only."""
    body = str(engine.one("select pg_get_functiondef(%s::regproc)", f"lanework.{function}"))
    assert right in body, f"lanework.{function} no longer has the text that the planted bug replaces: {right!r}"
    engine.db.execute(body.replace(right, wrong).encode())
