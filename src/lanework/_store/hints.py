"""Hints: NOTIFY out, LISTEN in. They make things sooner and carry nothing that is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg

from lanework._store.connect import aconnect, is_pooled
from lanework._store.verb import Verb, query, scalar, verb
from lanework.config import Settings

STOP = "!"
#: A schedule has changed, or a maintenance task is asked for.
SCHEDULES = "~"
#: Before a lane's name: rows have appeared before those that were claimed last.
BEHIND = "<"


def hint(lane: str) -> Verb[Any]:
    return verb("notify", scalar, payload=lane)


def careful_hint(lane: str) -> Verb[Any]:
    """For a caller's transaction: not sent while the queue fills up, since it could stop the commit."""
    return verb("hint", scalar, lane=lane)


async def listen(dsn: str, settings: Settings, name: str) -> psycopg.AsyncConnection[Any] | None:
    """A connection that listens, or None where a pooler in between would swallow the notifications."""
    conn = await aconnect(dsn, settings, name)
    try:
        row = await (await conn.execute(query("hello"))).fetchone()
        if is_pooled(conn.info.backend_pid, row):
            await conn.close()
            return None
        await conn.execute(query("listen"))
    except BaseException:
        await conn.close()
        raise
    return conn


async def hear(conn: psycopg.AsyncConnection[Any], on_hint: Callable[[str], None]) -> None:
    """Passes on what the server announces, until the connection ends. In the loop's own call when the socket has something to read:
    by way of the driver's `notifies()` each hint would wait for two more turns of the loop."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    socket, encoding = conn.fileno(), conn.info.encoding

    def read() -> None:
        try:
            conn.pgconn.consume_input()
            while (notify := conn.pgconn.notifies()) is not None:
                on_hint(notify.extra.decode(encoding))
        except Exception as error:
            loop.remove_reader(socket)  # an end stays readable
            if not ended.done():
                ended.set_exception(error)

    loop.add_reader(socket, read)
    try:
        read()  # what came with the answer to LISTEN
        await ended
    finally:
        loop.remove_reader(socket)
