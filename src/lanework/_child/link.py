"""The child's end of the channel, and what `ctx` talks to in a child."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Timer
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from lanework._capture import Sink
from lanework._child.wire import Raw, Unpacker, pack
from lanework._codec import RESULT_LIMIT, encode
from lanework._store.keeper import AsyncKeeper, Keeper
from lanework.config import Settings
from lanework.errors import BY_CODE, ClaimLost, InvalidResult, LaneworkError

#: Seconds between two progress messages of one job: what comes faster is merged.
PROGRESS_S = 0.2

Tell = Callable[[str, dict[str, Any]], None]


class Wire:
    """Sends from any thread, one message at a time; receives in one."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = Lock()
        self._unpacker = Unpacker()
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._leave)

    @property
    def ours(self) -> bool:
        """False in a process that a job forked: two processes must not write into one stream."""
        return self._pid == os.getpid()

    def send(self, *parts: Any, fds: tuple[int, ...] = ()) -> None:
        data = pack(*parts)
        with self._lock:
            if fds:
                sent = socket.send_fds(self._sock, [data], fds)
                data = data[sent:]
            self._sock.sendall(data)

    def receive(self) -> list[list[Any]]:
        """Blocks; an empty channel that was closed means that the worker is gone, and so are we."""
        while True:
            data = self._sock.recv(65536)
            if not data:
                os.killpg(0, signal.SIGKILL)
            if messages := self._unpacker.feed(data):
                return messages

    def _leave(self) -> None:
        self._sock.close()
        self._lock = Lock()  # another thread of the parent may have held it


class ChildLink:
    """`Link` over the channel, for one job. Once closed it takes nothing more: a thread that the job left behind must
    not speak for the next."""

    def __init__(self, wire: Wire, number: int) -> None:
        self._wire = wire
        self._number = number
        self._lock = Lock()
        self._open = True
        self._ids = itertools.count(1)
        self._asked: dict[int, Future[Any]] = {}
        self._progress = _Progress(self._tell)
        self.sink = Sink(_Direct(self._tell))

    def tell(self, op: str, data: dict[str, Any]) -> None:
        if not self._wire.ours:
            Stderr().tell(op, data)
        elif op == "log":
            self.sink.entry(data["stream"], data["text"])
        elif op == "progress":
            _checked(data)  # here, where the handler sees it, and not when the merged message goes
            self._progress.tell(data)
        else:
            self._tell(op, data)

    def ask(self, op: str, data: dict[str, Any]) -> Any:
        return self._ask(op, data).result()

    async def aask(self, op: str, data: dict[str, Any]) -> Any:
        return await asyncio.wrap_future(self._ask(op, data))

    def database(self) -> Keeper:
        """A connection of this child's own, opened when first wanted."""
        return _Database.keeper(lambda: self.ask("database", {}))

    async def adatabase(self) -> AsyncKeeper:
        return _Database.akeeper(await self.aask("database", {}))

    def answer(self, number: int, ok: bool, value: Any) -> None:
        with self._lock:
            asked = self._asked.pop(number, None)
        if asked is None or not asked.set_running_or_notify_cancel():
            return
        if ok:
            asked.set_result(value)
        else:
            asked.set_exception(BY_CODE.get(value[0], LaneworkError)(value[1]))

    def close(self) -> None:
        with suppress(LaneworkError):
            self._progress.flush()
        self.sink.flush()
        with self._lock:
            self._open = False
            asked, self._asked = self._asked, {}
        for each in asked.values():
            each.cancel()

    def _tell(self, op: str, data: dict[str, Any]) -> None:
        text = data if op == "log" else _checked(data)
        with self._lock:
            if self._open:
                self._wire.send("tell", self._number, op, text)

    def _ask(self, op: str, data: dict[str, Any]) -> Future[Any]:
        if not self._wire.ours:
            raise RuntimeError(f"ctx: {op} is not possible in a process that the job forked")
        text = _checked(data)
        future: Future[Any] = Future()
        with self._lock:
            if not self._open:
                raise ClaimLost(f"{op}: the attempt that this thread belongs to has ended")
            number = next(self._ids)
            self._asked[number] = future
            self._wire.send("ask", self._number, number, op, text)
        return future


class _Database:
    """The connections of this process: for blocking bodies, and for the child's event loop."""

    _lock = Lock()
    _keeper: Keeper | None = None
    _akeepers: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncKeeper]] = WeakKeyDictionary()

    @classmethod
    def keeper(cls, told: Callable[[], dict[str, Any]]) -> Keeper:
        with cls._lock:
            if cls._keeper is None:
                words = told()
                cls._keeper = Keeper(words["dsn"], Settings(**words["settings"]), "child", 2)
            return cls._keeper

    @classmethod
    def akeeper(cls, words: dict[str, Any]) -> AsyncKeeper:
        loop = asyncio.get_running_loop()
        if loop not in cls._akeepers:
            cls._akeepers[loop] = AsyncKeeper(words["dsn"], Settings(**words["settings"]), "child", 2)
        return cls._akeepers[loop]


class Stderr:
    """What a forked process tells: its stderr is captured like everything it prints."""

    def tell(self, op: str, data: dict[str, Any]) -> None:
        if op == "log":
            sys.stderr.write(f"{data['text']}\n")


class _Direct:
    """Past the sink: what it tells is bounded already."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell


def _checked(data: dict[str, Any]) -> Raw:
    # The worker has its own, lower limits for each kind of value.
    return Raw(encode(data, field="", limit=2 * RESULT_LIMIT, error=InvalidResult))


class _Progress:
    """At most a few messages a second, however often the job reports; the last one always arrives."""

    def __init__(self, tell: Tell) -> None:
        self._send = tell
        self._lock = Lock()
        self._next = 0.0
        self._waiting: dict[str, Any] | None = None

    def tell(self, data: dict[str, Any]) -> None:
        with self._lock:
            wait = self._next - time.monotonic()
            if self._waiting is not None:
                self._waiting = _merge(self._waiting, data)
            elif wait > 0:
                self._waiting = data
                self._later(wait)
            else:
                self._now(data)

    def flush(self) -> None:
        with self._lock:
            if self._waiting is not None:
                data, self._waiting = self._waiting, None
                self._now(data)

    def _now(self, data: dict[str, Any]) -> None:
        self._next = time.monotonic() + PROGRESS_S
        self._send("progress", data)

    def _later(self, wait: float) -> None:
        timer = Timer(wait, self.flush)
        timer.daemon = True
        timer.name = "lanework-progress"
        timer.start()


def _merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {
        "fraction": old["fraction"] if new["fraction"] is None else new["fraction"],
        "message": new["message"] or old["message"],
        "data": {**old["data"], **new["data"]},
    }
