"""A process's connections: a few, shared, opened when wanted, dropped when broken.

The number is known beforehand: it is part of what `doctor` checks against `max_connections`.
"""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg

from lanework._store.connect import aconnect, connect, watched
from lanework._store.verb import Verb, arun, run
from lanework.config import Settings
from lanework.errors import DatabaseUnavailable

T = TypeVar("T")


def is_spent(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """True if what was done last has left it unfit for others. (Whether it still has another side is asked when it is taken.)"""
    return conn.closed or conn.broken or conn.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE


def is_broken(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """True if an idle connection was closed from the other side. A server that ends says so, and the socket is readable:
    found out here, the next statement is not sent into the void, and nobody has to guess whether it was carried out.

    Whatever else a server says unasked (a setting was reloaded) costs one new connection; reading it here would not tell a
    last word from another before the end of the stream has come, too.
    """
    if is_spent(conn):
        return True
    poll = select.poll()
    poll.register(conn.fileno(), select.POLLIN)
    return bool(poll.poll(0))


class Keeper:
    """Connections for blocking callers, from any thread."""

    def __init__(self, dsn: str, settings: Settings, name: str, size: int) -> None:
        self._dsn, self._settings, self._name = dsn, settings, name
        self._places = threading.BoundedSemaphore(size)
        self._idle: list[psycopg.Connection[Any]] = []
        self._lock = threading.Lock()
        self._blocks: Keeper | None = None
        self.size = size

    def for_blocks(self) -> Keeper:
        """As many again, for transactions that are held while a handler's code runs: what that code asks of these here never
        waits for a block."""
        with self._lock:
            if self._blocks is None:
                self._blocks = Keeper(self._dsn, self._settings, self._name, self.size)
            return self._blocks

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        if not self._places.acquire(timeout=self._settings.connect_timeout):
            raise DatabaseUnavailable(f"all {self.size} connections of this process are in use; raise LANEWORK_CONNECTIONS")
        try:
            conn = self._take() or connect(self._dsn, self._settings, self._name)
            try:
                yield conn
            finally:
                self._give(conn)
        finally:
            self._places.release()

    def run(self, verb: Verb[T]) -> T:
        with self.connection() as conn:
            return run(conn, verb)

    def _take(self) -> psycopg.Connection[Any] | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                conn = self._idle.pop()
            if not is_broken(conn):
                return conn
            conn.close()

    def _give(self, conn: psycopg.Connection[Any]) -> None:
        if is_spent(conn):
            conn.close()
            return
        with self._lock:
            self._idle.append(conn)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            blocks, self._blocks = self._blocks, None
        for conn in idle:
            conn.close()
        if blocks is not None:
            blocks.close()


class AsyncKeeper:
    """Connections for one event loop."""

    def __init__(self, dsn: str, settings: Settings, name: str, size: int) -> None:
        self._dsn, self._settings, self._name = dsn, settings, name
        self._places = asyncio.Semaphore(size)
        self._idle: list[psycopg.AsyncConnection[Any]] = []
        self._closed = False
        self._blocks: AsyncKeeper | None = None
        self.size = size

    def for_blocks(self) -> AsyncKeeper:
        if self._blocks is None:
            self._blocks = AsyncKeeper(self._dsn, self._settings, self._name, self.size)
        return self._blocks

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with self._places:
            conn = await self._take() or await aconnect(self._dsn, self._settings, self._name)
            try:
                yield conn
            finally:
                if self._closed or is_spent(conn):
                    await conn.close()
                else:
                    self._idle.append(conn)

    async def run(self, verb: Verb[T]) -> T:
        async with self.connection() as conn:
            with watched(conn, self._settings):
                return await arun(conn, verb)

    async def _take(self) -> psycopg.AsyncConnection[Any] | None:
        while self._idle:
            conn = self._idle.pop()
            if not is_broken(conn):
                return conn
            await conn.close()
        return None

    async def close(self) -> None:
        self._closed = True
        idle, self._idle = self._idle, []
        for conn in idle:
            await conn.close()
        if self._blocks is not None:
            await self._blocks.close()
