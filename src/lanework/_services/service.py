"""The silhouette that all background services share: start, loop, run_once, stop. One that dies is restarted, and shows."""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass

from lanework._store.verb import is_outage

logger = logging.getLogger("lanework")


@dataclass(slots=True)
class Health:
    """How a service is doing, for `app.health()`."""

    name: str
    state: str = "new"
    restarts: int = 0
    last_error: str = ""


class Service:
    """Subclasses write `run_once`, which does one round and answers how many seconds to wait for the next. A round that answers
    0 must have awaited something."""

    name = "service"

    def __init__(self) -> None:
        self.health = Health(self.name)
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._loop(), name=f"lanework-{self.name}")

    def wake(self) -> None:
        self._wake.set()

    async def stop(self) -> None:
        self._stopping = True
        while self._task is not None and not self._task.done():
            self._task.cancel()  # asked again: before Python 3.12 a cancel that meets its answer can be swallowed (wait_for)
            await asyncio.wait([self._task], timeout=0.5)
        self.health.state = "stopped"

    async def run_once(self) -> float:
        raise NotImplementedError

    async def _loop(self) -> None:
        failures = 0
        while not self._stopping:
            try:
                self._wake.clear()
                pause = await self.run_once()
                self.health.state, failures = "running", 0
            except Exception as error:
                failures += 1
                self._note(error, failures)
                pause = min(0.1 * 2**failures, 5.0) * (0.5 + random.random() / 2)  # noqa: S311 - spreads load, guards nothing
            if pause > 0 and not self._stopping:
                await self._sleep(pause)

    async def _sleep(self, seconds: float) -> None:
        timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _note(self, error: Exception, failures: int) -> None:
        self.health.state, self.health.last_error = "failing", f"{type(error).__name__}: {error}"
        self.health.restarts += 1
        if is_outage(error):
            if failures == 1:
                logger.warning("%s: the database is away (%s); it goes on by itself when it is back", self.name, error)
        else:
            logger.error("%s failed and is restarted: %s", self.name, error, exc_info=error)
