"""A process pool as tests use it, with real children."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from lanework._loading import Target
from lanework._pools.base import Call
from lanework._pools.process import ProcessPool
from lanework.context import Context
from tests.pools.link import FakeLink

ROOT = Path(__file__).parents[2]
APP = Path(__file__).with_name("app.py")
GRACE = (0.3, 0.3)
# The machine may be busy: what must not be reached is far away, rather than just behind.
LONG = 20.0
ASK = (LONG, LONG)
TERM = (0.3, LONG)
LINUX = [pytest.mark.processes, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


class FakeHandler:
    def __init__(self, name: str, memory_limit: int | None, home: str) -> None:
        self.name = name
        self.memory_limit = memory_limit
        self.fn = _nothing if not home else _with_home(home)


def _nothing() -> None:
    raise AssertionError("the body must run in the child")


_nothing.__module__ = ""


def _with_home(home: str) -> Callable[[], None]:
    def nothing() -> None:
        raise AssertionError("the body must run in the child")

    nothing.__module__ = home
    return nothing


class Run:
    """One job given to a pool."""

    def __init__(self, pool: ProcessPool, name: str, memory_limit: int | None, home: str, payload: Any) -> None:
        self.link = FakeLink()
        self.context = Context(self.link, job_id=7, attempt=2, fence=9, type=name, lane="lane", owner="me", saved={"page": 3})
        handler: Any = FakeHandler(name, memory_limit, home)
        self.task = asyncio.ensure_future(pool.run(Call(handler, self.context, payload, 1, 7, 2, str(uuid4()), 9)))

    async def cancel(self, reason: str = "cancelled by a test") -> float:
        """Seconds until the body had ended."""
        began = time.monotonic()
        self.context._cancel_reason = reason
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task
        return time.monotonic() - began


class Pool:
    def __init__(self, target: Target, **options: Any) -> None:
        self.spawned: list[int] = []
        self.exited: list[int] = []
        self._exit = asyncio.Event()
        options = {"size": 1, "grace": GRACE, "name": "tested", **options}
        self.sent: list[tuple[int, int]] = []
        self.pool = ProcessPool(
            target,
            on_spawn=self.spawned.append,
            on_exit=self._on_exit,
            on_job=lambda *told: self.sent.append(told),
            **options,
        )

    def _on_exit(self, pid: int) -> None:
        self.exited.append(pid)
        self._exit.set()

    async def until_exit(self, pid: int) -> None:
        async with asyncio.timeout(60):
            while pid not in self.exited:
                self._exit.clear()
                await self._exit.wait()

    def begin(self, name: str, *, memory_limit: int | None = None, home: str = "", **payload: Any) -> Run:
        return Run(self.pool, name, memory_limit, home, payload)

    async def __call__(self, name: str, **options: Any) -> Any:
        return await self.begin(name, **options).task

    async def pid(self) -> int:
        return int((await self("who"))["pid"])


@asynccontextmanager
async def opened(target: Target | None = None, **options: Any) -> AsyncIterator[Pool]:
    pool = Pool(target or Target.parse(f"{APP}:app"), **options)
    await pool.pool.start()
    try:
        yield pool
    finally:
        await pool.pool.stop()
        assert sorted(pool.exited) == sorted(pool.spawned)
        assert not any(lives(pid) for pid in pool.spawned)


def lives(pid: int) -> bool:
    """A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for_end(pid: int, timeout: float = 10.0) -> bool:
    """Of any process; woken by the kernel."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], timeout)[0])
    finally:
        os.close(fd)


def application(tmp_path: Path, text: str) -> Target:
    file = tmp_path / "their_app.py"
    file.write_text("from tests.pools.app import Application\napp = Application()\n" + textwrap.dedent(text))
    return Target.parse(f"{file}:app")
