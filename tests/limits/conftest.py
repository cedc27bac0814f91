"""`app`: an application on a database of its own. `other()`: further ones on the same, each with a pool of its own.
`house`: one with a worker."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lanework import Handle, JobInfo, Lanework
from tests.limits import code
from tests.sql.engine import Engine, connect

FAST = {"beat": 0.3, "idle_beat": 0.3, "sweep": 0.3, "expiry": 3.0, "fence_after": 2.0, "connections": 12}


def application(dsn: str) -> Lanework:
    return Lanework(dsn, allow_unsafe=True, **FAST)


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with application(database) as app:
        yield app


@pytest.fixture
def other(database: str) -> Iterator[Callable[[], Lanework]]:
    made: list[Lanework] = []

    def make() -> Lanework:
        made.append(application(database))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def sql(database: str) -> Iterator[Engine]:
    with connect(database) as db:
        yield Engine(db)


class House:
    """A database with one worker in this process."""

    def __init__(self, dsn: str, sql: Engine, folder: Path) -> None:
        self.app, self.sql, self._folder = code.app, sql, folder
        self._before = code.app.settings
        code.app.settings = code.app.settings.changed(dsn=dsn, allow_unsafe=True, max_children=8, **FAST)
        code.app.lane("wide", max_slots=None, poll_interval_ms=200)
        self._ready, self._leave = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), daemon=True)
        self._thread.start()
        assert self._ready.wait(60), "the worker did not start"

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with self.app, self.app.worker() as self.worker:
            self._ready.set()
            await self._leave.wait()

    def close(self) -> None:
        for name in ("a", "b", "c"):
            self.open(name)
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join(60)
        self.app.settings = self._before

    def open(self, gate: str) -> None:
        (self._folder / f"gate-{gate}").touch()

    def submit(self, name: str, *args: Any, **options: Any) -> Handle[Any]:
        job: Any = getattr(code, name)
        handle: Handle[Any] = (job.options(**options) if options else job).submit(*args)
        return handle

    def end(self, handle: Handle[Any], seconds: float = 90) -> JobInfo:
        return handle.wait(seconds)

    def until(self, condition: Callable[[], Any], seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while not condition():
            live = self.sql.rows("select id, status::text, attempt, blocked_on from lanework.jobs")
            assert time.monotonic() < end, f"waited too long; {live}, {code.said()}"
            time.sleep(0.01)

    def blocked_on(self, handle: Handle[Any]) -> str | None:
        return self.app.get(handle.id).blocked_on


@pytest.fixture
def house(database: str, sql: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setenv(code.FOLDER, str(tmp_path))
    house = House(database, sql, tmp_path)
    yield house
    house.close()
