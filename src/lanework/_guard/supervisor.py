"""`lanework worker`: starts the worker proper, beats for it, starts it again when a job has killed it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from typing import Any

from lanework._guard.guard import Guard
from lanework._guard.link import GUARD_FD
from lanework._guard.processes import become_subreaper
from lanework._guard.wire import line

logger = logging.getLogger("lanework")

#: A worker that lived this long gets a fresh start; a shorter life makes the next start wait longer.
STEADY_AFTER = 10.0
#: What the worker adds to its grace for hooks and last writes.
AFTER_GRACE = 15.0


class Supervisor:
    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments
        self._stopping = False
        self._hurry = asyncio.Event()
        self._guard: Guard | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def run(self) -> int:
        """The exit code: 0 after a stop that was asked for."""
        become_subreaper()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop)
        failures, ever_worked = 0, False
        while True:
            born = loop.time()
            code, said_hello = await self._one_life()
            ever_worked = ever_worked or said_hello
            if self._hurry.is_set():
                return 0
            if not ever_worked:
                return code if code > 0 else 1  # it could not even start: the same would happen again
            failures = 0 if loop.time() - born > STEADY_AFTER else failures + 1
            await self._pause(min(0.1 * 2**failures, 10.0) if failures else 0.0)
            if self._hurry.is_set():
                return 0

    async def _one_life(self) -> tuple[int, bool]:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603, ASYNC220 - our own interpreter; it starts once
                [sys.executable, "-m", "lanework._worker", json.dumps(self._arguments)],
                pass_fds=[theirs.fileno()], env={**os.environ, GUARD_FD: str(theirs.fileno())}, start_new_session=True,
            )  # fmt: skip
        self._guard = Guard(ours, self._process.pid, supervised=True)
        if self._stopping:
            self._ask()
        watch = asyncio.create_task(self._end_in_time())
        try:
            await self._guard.run()
        finally:
            watch.cancel()
        cause = describe_exit(self._process.wait())
        if not self._stopping:
            logger.error("the worker process ended: %s", cause)
        await self._guard.bury(f"its process died: {cause}")
        await self._guard.close()
        return self._process.returncode, self._guard.said_hello.is_set()

    def _asked_to_stop(self) -> None:
        if self._stopping:  # asked twice: no more patience
            self._kill()
            return
        self._stopping = True
        self._hurry.set()
        self._ask()

    def _ask(self) -> None:
        if self._guard is not None:
            self._guard.tell(line("d"))
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    async def _end_in_time(self) -> None:
        """A worker that is asked to stop and does not (a loop that never comes back) is killed after its grace."""
        await self._hurry.wait()
        assert self._guard is not None
        await asyncio.sleep(self._guard.settings.grace + AFTER_GRACE)
        self._kill()

    def _kill(self) -> None:
        if self._guard is not None and self._process is not None:
            self._guard.killed_because = "did not stop in time"
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {-code} ({signal.Signals(-code).name})"
    return f"signal {-code}"
