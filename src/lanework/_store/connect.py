"""Connections, made in one place: named, with keepalives and time limits, whatever sits in between."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import set_json_loads

from lanework._store.verb import query, translated
from lanework.config import Settings

logger = logging.getLogger("lanework")

#: Client-side keepalives: a peer that vanished is noticed in seconds, not in two hours.
_KEEPALIVE = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}


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
    set_json_loads(_raw, conn)
    return cast("psycopg.Connection[Any]", conn)


async def aconnect(dsn: str, settings: Settings, name: str) -> psycopg.AsyncConnection[Any]:
    with translated():
        conn = await psycopg.AsyncConnection.connect(conninfo(dsn, settings, name), autocommit=True, prepare_threshold=2)
        try:
            row = await (await conn.execute(query("hello"))).fetchone()
            if is_pooled(conn.info.backend_pid, row):
                conn.prepare_threshold = None
            else:
                await conn.execute(query("session"), session_limits(settings, conn.info.server_version))
        except BaseException:
            await conn.close()
            raise
    set_json_loads(_raw, conn)
    return cast("psycopg.AsyncConnection[Any]", conn)


def is_pooled(reported_pid: int, row: tuple[Any, ...] | None) -> bool:
    """A pooler answers the start-up with a number of its own; the server knows its real one."""
    return row is not None and row[0] != reported_pid
