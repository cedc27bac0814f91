"""A proxy between the engine and PostgreSQL that loses answers, says nothing, or cuts the line.

    with Proxy(dsn) as proxy:
        Lanework(proxy.dsn)
        proxy.swallow("lanework.submit", every=3)   each third such statement is carried out, and its answer lost
        proxy.blackhole(); proxy.heal()              nothing gets through in between, in neither direction

It reads the protocol as far as it must: which statement a message carries, and where the answer to it ends (the commit is done).
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

READY_FOR_QUERY = b"Z"


@dataclass
class Rule:
    """Swallows the answer to each `every`th statement that has `text` in it, at most `times` of them; then the line is cut, or
    hangs: nothing is answered any more."""

    text: bytes
    every: int
    times: float
    hangs: bool
    seen: int = 0
    swallowed: int = 0

    def takes(self, statement: bytes) -> bool:
        if self.text not in statement:
            return False
        self.seen += 1
        if self.seen % self.every or self.swallowed >= self.times:
            return False
        self.swallowed += 1
        return True


class Proxy:
    def __init__(self, dsn: str) -> None:
        given = conninfo_to_dict(dsn)
        self._path = f"{given['host']}/.s.PGSQL.{given.get('port') or 5432}"
        self._given = given
        self._rules: list[Rule] = []
        self._port = 0
        self._lines: set[Line] = set()
        self.gate: asyncio.Event

    def __enter__(self) -> Self:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, args=[started], name="proxy")
        self._thread.start()
        assert started.wait(90)
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def dsn(self) -> str:
        ours: dict[str, Any] = {"host": "127.0.0.1", "port": self._port, "sslmode": "disable", "gssencmode": "disable"}
        return make_conninfo(**{**self._given, **ours})

    # -- faults ----------------------------------------------------------------------------------------------------------

    def swallow(self, text: str, *, every: int = 1, times: float = float("inf"), hangs: bool = False) -> Rule:
        rule = Rule(text.encode(), every, times, hangs)
        self._rules.append(rule)
        return rule

    def behave(self) -> None:
        self._rules.clear()

    def blackhole(self) -> None:
        """Connections stay open and are accepted; what is sent waits."""
        self._do(self._set(False))

    def heal(self) -> None:
        """What waited goes on, also what was sent by somebody who has hung up since."""
        self._do(self._set(True))

    def cut(self) -> None:
        self._do(self._cut())

    def taken_by(self, statement: bytes) -> Rule | None:
        taken = [rule for rule in self._rules if rule.takes(statement)]  # all of them count
        return taken[0] if taken else None

    # -- its own thread --------------------------------------------------------------------------------------------------

    def _serve(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)

        async def listen() -> None:
            self.gate = asyncio.Event()
            self.gate.set()
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            self._port = self._server.sockets[0].getsockname()[1]
            started.set()

        self._loop.run_until_complete(listen())
        self._loop.run_forever()

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(30)

    async def _set(self, is_open: bool) -> None:
        self.gate.set() if is_open else self.gate.clear()

    async def _cut(self) -> None:
        for line in list(self._lines):
            line.close()

    async def _end(self) -> None:
        self._server.close()
        self.gate.set()
        await self._cut()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.gate.wait()
        try:
            there = await asyncio.open_unix_connection(self._path)
        except OSError:  # the server is away: so are we
            writer.transport.abort()
            return
        line = Line(self, (reader, writer), there)
        self._lines.add(line)
        try:
            await line.run()
        finally:
            line.close()
            self._lines.discard(line)


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Line:
    """One connection."""

    def __init__(self, proxy: Proxy, client: Ends, server: Ends) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._statements: dict[bytes, bytes] = {}
        self._swallowing: Rule | None = None

    async def run(self) -> None:
        out, back = asyncio.create_task(self._out()), asyncio.create_task(self._back())
        await asyncio.wait([out, back], return_when=asyncio.FIRST_COMPLETED)
        if out.done() and not self._swallowing:
            self._server[1].write_eof()
            await asyncio.wait([back], timeout=5)
        for task in (out, back):
            task.cancel()
        await asyncio.gather(out, back, return_exceptions=True)

    def close(self) -> None:
        for _, writer in (self._client, self._server):
            with suppress(Exception):
                writer.transport.abort()

    async def _out(self) -> None:
        reader, writer = self._client[0], self._server[1]
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            size = await reader.readexactly(4)  # the start-up message has no letter
            await self._pass(writer, size + await reader.readexactly(struct.unpack("!i", size)[0] - 4))
            while True:
                head = await reader.readexactly(5)
                body = await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)
                self._look(head[:1], body)
                await self._pass(writer, head + body)

    async def _back(self) -> None:
        reader, writer = self._server[0], self._client[1]
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readexactly(5)
                body = await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)
                if not self._swallowing:
                    await self._pass(writer, head + body)
                elif head[:1] == READY_FOR_QUERY and not self._swallowing.hangs:
                    return  # it is committed, and nobody has heard of it

    async def _pass(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        await self._proxy.gate.wait()
        writer.write(data)
        await writer.drain()

    def _look(self, letter: bytes, body: bytes) -> None:
        statement = b""
        if letter == b"P":  # Parse: name, text
            name, text, _ = body.split(b"\0", 2)
            self._statements[name] = text
        elif letter == b"B":  # Bind: portal, name of the statement
            statement = self._statements.get(body.split(b"\0", 2)[1], b"")
        elif letter == b"Q":
            statement = body
        if statement and self._swallowing is None:
            self._swallowing = self._proxy.taken_by(statement)
