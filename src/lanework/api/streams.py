"""Server-sent events that end well: when the client leaves or reads too slowly, when its right is gone, when the server stops.

A stream holds no database connection while it waits. Who is dropped comes back with Last-Event-ID and misses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from lanework.api.gate import Caller
from lanework.errors import LaneworkError
from lanework.events import Event

KEEP_ALIVE = 15.0
#: A client that has not taken what was sent for so long is dropped.
SLOW = 10.0
#: What an ended stream has for its last words, and for whatever it was about to do.
LAST_WORDS = 0.25
#: Events are sent together up to about so many bytes.
CHUNK = 65_536
#: A key of the ASGI scope's extensions: closes the connection without waiting for a client that does not read. `kg.serving` has it.
DROP = "lanework.drop"
STOPPING = "the server is stopping"


class Batch(NamedTuple):
    """What a source has now. `wait`: it wants to be read again after so many seconds, woken or not."""

    data: Sequence[bytes] = ()
    more: bool = False
    ended: bool = False
    wait: float = KEEP_ALIVE


class Listener(Protocol):
    def wake(self) -> None: ...

    def end(self, why: str) -> None: ...


class Source(Protocol):
    """What a stream sends. It wakes its listener when there may be something to read."""

    listener: Listener | None

    async def read(self) -> Batch: ...

    def mark(self) -> str | None:
        """Where to go on for who has everything that was read, if that is known."""
        ...

    def close(self) -> None: ...


def encoded(event: Event) -> bytes:
    """`id:` is where to go on; `event:` is the kind; `data:` is JSON, which has no line breaks."""
    jobs = [event.jobs[0], event.jobs[-1]] if isinstance(event.jobs, range) else list(event.jobs)
    data: dict[str, Any] = {"at": event.at.isoformat(), "topic": event.topic, "kind": event.kind, "jobs": jobs, "data": event.data}
    if isinstance(event.jobs, range):
        data["range"] = True
    kind = " ".join(event.kind.split())
    return f"id: {event.cursor}\nevent: {kind}\ndata: {json.dumps(data, ensure_ascii=False, default=str)}\n\n".encode()


class Streams:
    """The open streams of a process."""

    def __init__(self) -> None:
        self.open: set[Stream] = set()
        self.closing = False

    def add(self, stream: Stream) -> None:
        self.open.add(stream)
        if self.closing:
            stream.end(STOPPING)

    def close(self) -> None:
        """Ends them all, at once. To be called on their event loop."""
        self.closing = True
        for stream in list(self.open):
            stream.end(STOPPING)

    def callers(self) -> list[Caller]:
        return list({id(stream.caller): stream.caller for stream in self.open}.values())

    def end_of(self, callers: Iterable[Caller], why: str) -> None:
        gone = {id(caller) for caller in callers}
        for stream in list(self.open):
            if id(stream.caller) in gone:
                stream.end(why)


class Stream(StreamingResponse):
    """One client's stream of what a source has, until it ends or is ended. (FastAPI's own would wait for a client that does not
    read, for ever.)"""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, caller: Caller, source: Source) -> None:
        super().__init__(content=iter(()), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self.streams, self.caller, self._source = streams, caller, source
        self._bell = asyncio.Event()
        self._why: str | None = None
        self._limit: asyncio.Timeout | None = None
        self._said = 0.0

    # -- what others tell it ---------------------------------------------------------------------------------------------

    def wake(self) -> None:
        self._bell.set()

    def end(self, why: str) -> None:
        """Whatever it is doing, sending to a client that does not read included, it gets a moment for it and no more."""
        self._finish(why, LAST_WORDS)

    def _finish(self, why: str, seconds: float) -> None:
        if self._why is None:
            self._why = why
        self._bell.set()
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + seconds)

    # -- its life --------------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.create_task(self._leaves(receive))
        self._source.listener = self
        try:
            async with asyncio.timeout(None) as self._limit:
                self.streams.add(self)
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._tell(send)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (TimeoutError, OSError):
            await _drop(scope, leaving)
        finally:
            self._limit = None
            self.streams.open.discard(self)
            self._source.close()
            leaving.cancel()

    async def _leaves(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._finish("", 0.0)

    async def _tell(self, send: Send) -> None:
        await self._send(send, b"retry: 1000\n" + self._mark() + b"\n")
        while self._why is None:
            self._bell.clear()
            try:
                batch = await self._source.read()
            except LaneworkError as error:
                self._why = str(error)
                break
            for chunk in _chunks(batch.data):
                await self._send(send, chunk)
            if batch.ended:
                return
            if not batch.more:
                await self._rest(batch.wait)
                if time.monotonic() - self._said >= KEEP_ALIVE:
                    await self._send(send, b": still here\n" + self._mark() + b"\n")
        if self._why:
            await self._send(send, f"event: end\ndata: {json.dumps(self._why)}\n\n".encode())

    async def _rest(self, seconds: float) -> None:
        until = min(seconds, self._said + KEEP_ALIVE - time.monotonic())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(until, 0.0)):
                await self._bell.wait()

    def _mark(self) -> bytes:
        """An id alone is no event: a browser keeps it for its next Last-Event-ID."""
        mark = self._source.mark()
        return b"" if mark is None else f"id: {mark}\n".encode()

    async def _send(self, send: Send, data: bytes) -> None:
        async with asyncio.timeout(SLOW):
            await send({"type": "http.response.body", "body": data, "more_body": True})
        self._said = time.monotonic()


def _chunks(data: Sequence[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for one in data:
        held.append(one)
        size += len(one)
        if size >= CHUNK:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


async def _drop(scope: Scope, leaving: asyncio.Task[None]) -> None:
    """Too slow, or gone. A body without its end tells the client that there was more; a server that can close the connection at
    once does, others when the client has read what they hold for it."""
    drop: Any = (scope.get("extensions") or {}).get(DROP)
    if drop is not None:
        drop()
        await asyncio.wait([leaving], timeout=1.0)
