"""Whether a server keeps what it has committed."""

from __future__ import annotations

import logging
import os
from typing import Any

import psycopg

from lanework.errors import UnsafeDatabase

_logger = logging.getLogger("lanework")
_QUESTION = """
    select current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')
"""


def check_durability(connection: psycopg.Connection[Any], *, allow_unsafe: bool | None = None) -> None:
    """Refuse a server that can lose committed jobs. `allow_unsafe` (or `LANEWORK_ALLOW_UNSAFE=1`) makes it a warning."""
    with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        _judge(cursor.execute(_QUESTION, prepare=False).fetchone(), _allowed(allow_unsafe))


async def acheck_durability(connection: psycopg.AsyncConnection[Any], *, allow_unsafe: bool | None = None) -> None:
    async with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        _judge(await (await cursor.execute(_QUESTION, prepare=False)).fetchone(), _allowed(allow_unsafe))


def _allowed(given: bool | None) -> bool:
    return os.environ.get("LANEWORK_ALLOW_UNSAFE") == "1" if given is None else given


def _judge(answer: tuple[Any, ...] | None, allowed: bool) -> None:
    assert answer is not None
    fsync, synchronous_commit, full_page_writes = answer
    if full_page_writes == "off":
        _logger.warning("full_page_writes is off: a power failure may damage pages if the storage tears them")
    losses = [name for name, value in (("fsync", fsync), ("synchronous_commit", synchronous_commit)) if value == "off"]
    if losses:
        _refuse(" and ".join(losses), allowed)


def _refuse(settings: str, allowed: bool) -> None:
    problem = f"the server runs with {settings} = off: a crash can lose jobs that were committed"
    if not allowed:
        raise UnsafeDatabase(
            f"{problem}. Turn it on (alter system set … = on; select pg_reload_conf()). If losing jobs is no harm, "
            "or the storage below keeps them by other means, set LANEWORK_ALLOW_UNSAFE=1."
        )
    _logger.warning("%s. LANEWORK_ALLOW_UNSAFE=1 accepts that.", problem)
