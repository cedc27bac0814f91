"""uvicorn for applications with streams: `Server(make_config(api)).run()`. They end at once when it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import socket
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from lanework.api.streams import DROP

#: Seconds that requests get to end after SIGTERM.
GRACE = 10


class Protocol(H11Protocol):
    """Lets a stream close its connection at once: a client that does not read would hold it up for ever."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        inner: Any = self.app

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("extensions", {})[DROP] = self.transport.abort
            await inner(scope, receive, send)

        self.app: Any = app


class Server(uvicorn.Server):
    """Tells the open streams at once that it is being stopped: they must not hold it up."""

    _loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None:  # a signal may come between any two steps of the loop; what it wants is done by the loop
            self._loop.call_soon_threadsafe(self._close_streams)

    def _close_streams(self) -> None:
        if (streams := self.lifespan.state.get("streams")) is not None:
            streams.close()


def make_config(api: Any, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        api, http=Protocol, log_level=logging.WARNING, access_log=False, timeout_graceful_shutdown=GRACE, server_header=False,
        date_header=True, timeout_keep_alive=30, **more,
    )  # fmt: skip
