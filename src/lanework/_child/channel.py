"""The worker's end of the channel to one child: never blocks the event loop."""

from __future__ import annotations

import array
import asyncio
import socket
from collections.abc import Callable
from typing import Any

from lanework._child.wire import Unpacker, pack

_FDS = 2
_ROOM = socket.CMSG_SPACE(_FDS * array.array("i").itemsize)
_FLAGS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Channel:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        *,
        on_message: Callable[[list[Any]], None],
        on_broken: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._on_message = on_message
        self._on_broken = on_broken
        self._unpacker = Unpacker()
        self._unsent = bytearray()
        self._fds: list[int] = []
        self._reading = True
        sock.setblocking(False)
        loop.add_reader(sock, self._read)

    def send(self, *parts: Any) -> None:
        data = pack(*parts)
        if not self._unsent:
            data = data[self._try_send(data) :]
            if data:
                self._loop.add_writer(self._sock, self._send_rest)
        self._unsent += data

    def drain(self) -> None:
        """Everything that is there: what a process said before it died counts."""
        while self._reading and self._read():
            pass

    def take_fds(self) -> list[int]:
        """The descriptors that came with the message just handled."""
        fds, self._fds = self._fds, []
        return fds

    def close(self) -> None:
        if self._sock.fileno() >= 0:
            self._stop_reading()
            self._loop.remove_writer(self._sock)
            self._sock.close()

    def _read(self) -> bool:
        try:
            data, ancillary, _, _ = self._sock.recvmsg(65536, _ROOM, _FLAGS)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data, ancillary = b"", []
        if not data:
            self._stop_reading()
            self._on_broken("it closed its channel to the worker")
            return False
        for _, _, packed in ancillary:
            self._fds += array.array("i", packed)
        self._handle(data)
        return True

    def _handle(self, data: bytes) -> None:
        try:
            messages = self._unpacker.feed(data)
        except (ValueError, RecursionError) as problem:
            self._stop_reading()
            self._on_broken(f"it wrote what is no message into its channel: {problem}")
            return
        for message in messages:
            self._on_message(message)

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._sock)

    def _try_send(self, data: bytes | bytearray) -> int:
        try:
            return self._sock.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            return len(data)  # it is dying: its pidfd says so

    def _send_rest(self) -> None:
        del self._unsent[: self._try_send(self._unsent)]
        if not self._unsent:
            self._loop.remove_writer(self._sock)
