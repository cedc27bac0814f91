"""The instruments of `instruments.sql`: the clock that tests move, the oracles, and planted bugs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.sql.engine import Engine, connect

INSTRUMENTS = Path(__file__).with_name("instruments.sql")


def instrumented(dsn: str, *, frozen: bool = False) -> Engine:
    """Adds clock, history and oracles to a new database."""
    engine = Engine(connect(dsn))
    engine.db.execute(INSTRUMENTS.read_bytes())
    # nobody is reaped until one expiry (here 1 s) after the server's start
    engine.rows("select pg_sleep(1.1 - extract(epoch from clock_timestamp() - pg_postmaster_start_time()))")
    wipe(engine, frozen=frozen)
    return engine


def wipe(engine: Engine, *, frozen: bool = False) -> None:
    """As if nothing had ever happened here. Frozen time stands still until `move`."""
    engine.rows("select proof.wipe(%s)", frozen)


def move(engine: Engine, **by: float) -> None:
    engine.rows("update proof.clock set shift = shift + %s", timedelta(**by))


def complaints(engine: Engine) -> list[dict[str, Any]]:
    """What the oracles hold against the history so far; the first few are enough."""
    return engine.rows("select oracle, what from proof.complaints limit 5")


@contextmanager
def planted(engine: Engine, function: str, right: str | re.Pattern[str], wrong: str) -> Iterator[None]:
    """A bug: a piece of the text of one of the engine's functions is replaced wherever it is, and put back afterwards."""
    body = str(engine.one("select pg_get_functiondef(%s::regproc)", f"lanework.{function}"))
    pattern = right if isinstance(right, re.Pattern) else re.compile(re.escape(right))
    bad, places = pattern.subn(wrong, body)
    assert places, f"lanework.{function} no longer has the text that the planted bug replaces: {pattern.pattern}"
    engine.db.execute(bad.encode())
    try:
        yield
    finally:
        engine.db.execute(body.encode())
