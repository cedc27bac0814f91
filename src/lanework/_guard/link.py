"""The worker's side of its guard: starts one if nobody gave it one, and another if that one dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from lanework._guard.processes import wait_for_death
from lanework._guard.wire import Lines, json_line, line
from lanework._services.service import Service
from lanework.config import Settings

logger = logging.getLogger("lanework")

GUARD_FD = "LANEWORK_GUARD_FD"
TICK = 0.5


class GuardLink(Service):
    name = "guard"

    def __init__(
        self, dsn: str, settings: Settings, *, embedded: str | None, on_stop: Callable[[dict[str, Any]], None],
        on_fence: Callable[[bool], None], on_retired: Callable[[str, int], None], on_drain: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__()
        self._dsn, self._settings, self._embedded = dsn, settings, embedded
        self._on_stop, self._on_fence, self._on_retired, self._on_drain = on_stop, on_fence, on_retired, on_drain
        self._sock: socket.socket | None = None
        self._lines: Lines | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._unsent = b""
        self._last_beat = time.monotonic()
        self._fenced = False
        self.worker_id = 0
        self.open: set[int] = set()
        self.told = 0
        self.children: set[int] = set()

    # -- words to the guard --------------------------------------------------------------------------------------------

    def hello(self, worker_id: int) -> None:
        """Says who we are; a worker that was retired says it again, under its new number."""
        self.worker_id = worker_id
        self._last_beat = time.monotonic()
        if self._sock is None:
            self._connect()
        settings = {name: value for name, value in asdict(self._settings).items() if name != "origin"}
        self._send(json_line("h", {
            "worker": worker_id, "dsn": self._dsn, "settings": settings, "embedded": self._embedded, "open": sorted(self.open),
            "told": self.told, "children": sorted(self.children),
        }))  # fmt: skip

    def open_claim(self) -> int:
        self.told += 1
        self.open.add(self.told)
        self._send(b"o %d\n" % self.told)
        return self.told

    def close_claim(self, no: int) -> None:
        if no in self.open:
            self.open.discard(no)
            self._send(b"c %d\n" % no)

    def child_started(self, pid: int) -> None:
        self.children.add(pid)
        self._send(line("p", pid))

    def child_gone(self, pid: int) -> None:
        self.children.discard(pid)
        self._send(line("x", pid))

    def runs_job(self, pid: int, job_id: int) -> None:
        self._send(line("j", f"{pid} {job_id}"))

    def beat_now(self) -> None:
        self._send(line("n"))

    def look_now(self) -> None:
        """A schedule or a task has changed."""
        self._send(line("w"))

    def leaving(self, reason: str) -> None:
        self._send(line("l", reason))

    # -- its life ------------------------------------------------------------------------------------------------------

    async def run_once(self) -> float:
        self._send(line("t"))
        if self._sock is not None and self._lines is not None and not self._lines.closed:
            self._read()  # a loop that was blocked has words waiting here: they count before the silence does
        if not self._fenced and time.monotonic() - self._last_beat > self._settings.fence_after:
            self._fence(True)  # a guard that is stopped cannot say so
        if self._watch is not None and self._watch.done() and self._sock is not None:
            logger.warning("the guard process is gone; another one is started")
            self._drop()
            self.hello(self.worker_id)
            self.health.restarts += 1
        return TICK

    async def leave(self, reason: str, timeout: float) -> None:
        """Our jobs are done. The guard writes the last words for us and ends when this process, or only its work, has."""
        await self.stop()
        self.leaving(reason)
        if self._process is not None:
            self._shut()
            await asyncio.to_thread(self._wait_for_guard, timeout)
        self._drop()

    def _shut(self) -> None:
        if self._sock is not None:
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)

    def _wait_for_guard(self, timeout: float) -> None:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)

    def _connect(self) -> None:
        inherited = os.environ.pop(GUARD_FD, None)
        self._sock = socket.socket(fileno=int(inherited)) if inherited else self._start_companion()
        self._sock.setblocking(False)
        self._lines = Lines(self._sock)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._sock, self._read)
        pid = os.getppid() if self._process is None else self._process.pid
        self._watch = loop.create_task(wait_for_death(pid))

    def _start_companion(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "lanework._guard", str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        return ours

    def _drop(self) -> None:
        if self._sock is not None:
            asyncio.get_running_loop().remove_reader(self._sock)
            self._sock.close()
        if self._watch is not None:
            self._watch.cancel()
        if self._process is not None:
            self._process.poll()
        self._sock, self._watch, self._process, self._unsent = None, None, None, b""

    def _read(self) -> None:
        assert self._lines is not None
        for kind, rest in self._lines.read():
            match kind:
                case "s":
                    self._on_stop(json.loads(rest))
                case "f":
                    self._fence(True)
                case "k":
                    self._last_beat = time.monotonic()
                    self._fence(False)
                case "r":
                    number, _, reason = rest.partition(" ")
                    self._on_retired(reason, int(number))
                case "d":
                    self._on_drain()
        if self._lines.closed and self._sock is not None:
            asyncio.get_running_loop().remove_reader(self._sock)

    def _fence(self, fenced: bool) -> None:
        if fenced != self._fenced:
            self._fenced = fenced
            self._on_fence(fenced)

    def _send(self, message: bytes) -> None:
        """Never blocks: the guard reads all the time; if it does not, its words wait here."""
        if self._sock is None:
            return
        data = self._unsent + message
        try:
            sent = self._sock.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            sent = len(data)
        self._unsent = data[sent:]
