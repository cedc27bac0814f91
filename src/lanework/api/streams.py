"""Server-sent events that end well: when the client leaves or reads too slowly, when its right is gone, when the server stops.

A stream holds no database connection while it waits. Who is dropped comes back with Last-Event-ID and misses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from lanework.api.gate import Caller
from lanework.events import Event

KEEP_ALIVE = 15.0
#: A client that has not taken what was sent for so long is dropped.
SLOW = 10.0


def encoded(event: Event) -> bytes:
    """`id:` is where to go on; `event:` is the kind; `data:` is JSON, which has no line breaks."""
    data: dict[str, Any] = {
        "at": event.at.isoformat(), "topic": event.topic, "kind": event.kind,
        "jobs": [event.jobs[0], event.jobs[-1]] if isinstance(event.jobs, range) else list(event.jobs), "data": event.data,
    }  # fmt: skip
    if isinstance(event.jobs, range):
        data["range"] = True
    return f"id: {event.cursor}\nevent: {event.kind}\ndata: {json.dumps(data, ensure_ascii=False, default=str)}\n\n".encode()


class Streams:
    """The open streams of a process. `close` ends them all at once."""

    def __init__(self) -> None:
        self.open: set[Stream] = set()
        self.closing = False

    def close(self) -> None:
        self.closing = True
        for stream in list(self.open):
            stream.end("the server is stopping")

    def callers(self) -> list[Caller]:
        return [stream.caller for stream in self.open]

    def end_of(self, caller: Caller, why: str) -> None:
        for stream in list(self.open):
            if stream.caller is caller:
                stream.end(why)


class Stream(StreamingResponse):
    """One client's stream of what `source` yields: events, until it ends or the stream is ended. (FastAPI's own would wait for a
    client that does not read, for ever.)"""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, caller: Caller, source: AsyncIterator[Event]) -> None:
        super().__init__(content=iter(()), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self.streams, self.caller, self._source = streams, caller, source
        self._over = asyncio.Event()
        self._why = ""

    def end(self, why: str) -> None:
        self._why = why
        self._over.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.streams.closing:
            self.end("the server is stopping")
        self.streams.open.add(self)
        left = asyncio.create_task(self._leaves(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._send(send, b"retry: 1000\n\n")
            await self._pass_on(send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (TimeoutError, OSError):
            # too slow, or gone: without an end of the body the server closes the connection
            return
        finally:
            self.streams.open.discard(self)
            left.cancel()
            with contextlib.suppress(Exception):
                await self._close_source()

    async def _leaves(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end("")

    async def _pass_on(self, send: Send) -> None:
        over = asyncio.create_task(self._over.wait())
        following: asyncio.Task[Event] | None = None
        try:
            while not over.done():
                following = following or asyncio.ensure_future(anext(self._source))
                await asyncio.wait([over, following], timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
                if over.done():
                    break
                if not following.done():
                    await self._send(send, b": still here\n\n")
                    continue
                done, following = following, None
                try:
                    event = done.result()
                except StopAsyncIteration:
                    return
                await self._send(send, encoded(event))
            if self._why:
                await self._send(send, f"event: end\ndata: {json.dumps(self._why)}\n\n".encode())
        finally:
            over.cancel()
            if following is not None:
                following.cancel()
                with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                    await following

    async def _send(self, send: Send, data: bytes) -> None:
        async with asyncio.timeout(SLOW):
            await send({"type": "http.response.body", "body": data, "more_body": True})

    async def _close_source(self) -> None:
        close: Any = getattr(self._source, "aclose", None)
        if close is not None:
            await close()
