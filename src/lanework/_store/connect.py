"""Connections, made in one place: named, with keepalives and time limits, whatever sits in between."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import set_json_loads

from lanework._store.arrays import PlainListDumper
from lanework._store.verb import query, translated
from lanework.config import Settings

logger = logging.getLogger("lanework")

#: Client-side keepalives: a peer that vanished is noticed in seconds, not in two hours.
_KEEPALIVE = {
    "keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
    "tcp_user_timeout": 11_000,  # keepalives are not sent while something sent is unacknowledged
}  # fmt: skip
#: What a statement's own limit does not cover: a server, or something in between, that takes what is sent and never answers.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Server:
    """What a connection found out about the other side."""

    version: int
    pooled: bool
    fsync: bool


def conninfo(dsn: str, settings: Settings, name: str) -> str:
    given = conninfo_to_dict(dsn)
    ours: dict[str, Any] = {
        **_KEEPALIVE,
        "connect_timeout": int(settings.connect_timeout),
        "application_name": f"lanework-{name}",
    }
    return make_conninfo(**{**ours, **{key: value for key, value in given.items() if key != "application_name"}})


def session_limits(settings: Settings, version: int) -> Mapping[str, Any]:
    """Limits for a session of the engine. Behind a pooler they cannot be set per session; the role's then hold."""
    return {
        "statement_timeout": f"{int(settings.statement_timeout * 1000)}ms",
        "modern": version >= 170000,
    }


def _raw(data: bytes | str) -> bytes | str:
    return data


def _adapt(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    set_json_loads(_raw, conn)
    conn.adapters.register_dumper(list, PlainListDumper)


def connect(dsn: str, settings: Settings, name: str) -> psycopg.Connection[Any]:
    with translated():
        conn = psycopg.connect(conninfo(dsn, settings, name), autocommit=True, prepare_threshold=2)
        try:
            row = conn.execute(query("hello")).fetchone()
            if is_pooled(conn.info.backend_pid, row):
                conn.prepare_threshold = None
            else:
                conn.execute(query("session"), session_limits(settings, conn.info.server_version))
        except BaseException:
            conn.close()
            raise
    _adapt(conn)
    return cast("psycopg.Connection[Any]", conn)


@contextmanager
def watched(conn: psycopg.AsyncConnection[Any], settings: Settings) -> Iterator[None]:
    """A wait for an answer that does not come ends as a broken connection. (Cancelling it would wait for the server again.)"""
    limit = settings.statement_timeout + PATIENCE
    timer = asyncio.get_running_loop().call_later(limit, _cut, conn, limit)
    try:
        yield
    finally:
        timer.cancel()


def _cut(conn: psycopg.AsyncConnection[Any], limit: float) -> None:
    with suppress(OSError, psycopg.Error):
        # the driver sees the end of the stream and cleans up in its own time; the copy of the descriptor is only to ask for it
        with socket.socket(fileno=os.dup(conn.fileno())) as stream:
            stream.shutdown(socket.SHUT_RDWR)
        logger.warning("no answer from the database for %s s; the connection is given up", limit)


async def aconnect(dsn: str, settings: Settings, name: str) -> psycopg.AsyncConnection[Any]:
    with translated():
        conn = await _open(conninfo(dsn, settings, name))
        with watched(conn, settings):
            await _greet(conn, settings)
    _adapt(conn)
    return conn


async def _open(info: str) -> psycopg.AsyncConnection[Any]:
    try:
        return await psycopg.AsyncConnection.connect(info, autocommit=True, prepare_threshold=2)
    except asyncio.CancelledError:
        pass
    # A connection that is broken off half-way is closed when nothing knows it any more. The cancelled task would: its traceback
    # holds the frames, and the server would wait for a password for a minute (and with it whoever drops a database). So another
    # one is raised, outside of the block.
    raise asyncio.CancelledError


async def _greet(conn: psycopg.AsyncConnection[Any], settings: Settings) -> None:
    try:
        row = await (await conn.execute(query("hello"))).fetchone()
        if is_pooled(conn.info.backend_pid, row):
            conn.prepare_threshold = None
        else:
            await conn.execute(query("session"), session_limits(settings, conn.info.server_version))
    except BaseException:
        await conn.close()
        raise


def is_pooled(reported_pid: int, row: tuple[Any, ...] | None) -> bool:
    """A pooler answers the start-up with a number of its own; the server knows its real one."""
    return row is not None and row[0] != reported_pid
