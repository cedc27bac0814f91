"""Two sessions, step by step: a call that runs beside the test until it is done, or blocked by somebody's lock."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from tests.sql.engine import Engine

T = TypeVar("T")


class Beside(Generic[T]):
    """Runs `call` on `engine`'s connection in a thread. Returns from the constructor when it is done or blocked."""

    def __init__(self, watcher: Engine, engine: Engine, call: Callable[[], T]) -> None:
        self._watcher, self._pid = watcher, engine.db.info.backend_pid
        self._threads = ThreadPoolExecutor(1)
        self._future: Future[T] = self._threads.submit(call)
        self.blocked = self._wait()

    def _wait(self) -> bool:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self._future.done():
                return False
            if self._watcher.one("select cardinality(pg_blocking_pids(%s)) > 0", self._pid):
                return True
            time.sleep(0.002)
        raise TimeoutError("neither done nor blocked")

    def result(self) -> T:
        try:
            return self._future.result(60)
        finally:
            self._threads.shutdown()
