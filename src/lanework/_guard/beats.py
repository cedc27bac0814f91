"""The heartbeat, and what follows from its silence."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from lanework._guard.wire import json_line, line
from lanework._services.service import Service
from lanework._store.keeper import AsyncKeeper
from lanework._store.workers import Signal, beat
from lanework.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from lanework._guard.guard import Guard


class Beats(Service):
    """Once a second while jobs run. Answers are passed on."""

    name = "heartbeat"

    def __init__(self, guard: Guard, keeper: AsyncKeeper) -> None:
        super().__init__()
        self._guard, self._keeper = guard, keeper
        self._last_ok = time.monotonic()
        self._last = 0.0
        self._due: asyncio.TimerHandle | None = None
        self._fenced = False
        self._stopped_since: float | None = None

    def busy(self) -> None:
        """Jobs run again: the next beat comes a busy beat after the last one. (Not at once: jobs that come one by one would each
        be answered with a beat, which takes the machine from them just when they start.)"""
        if self._due is not None:
            self._due.cancel()
        wait = max(self._last + self._guard.settings.beat - time.monotonic(), 0.0)
        self._due = asyncio.get_running_loop().call_later(wait, self.wake)

    async def run_once(self) -> float:
        guard, settings = self._guard, self._guard.settings
        self._last = time.monotonic()
        if self._stopped_too_long():
            return settings.beat
        gap = max(settings.idle_beat, settings.beat) * 2 + 1
        try:
            async with asyncio.timeout(settings.fence_after / 2):
                worker = guard.worker_id  # it may have another one when the answer is here
                signals = await self._keeper.run(beat(worker, sorted(guard.open), guard.told, gap))
        except TimeoutError:
            raise DatabaseUnavailable("no answer to a heartbeat") from None
        self._last_ok = time.monotonic()
        self._fenced = False
        guard.tell(line("k"))
        self._pass_on(worker, signals)
        if guard.is_stuck and guard.open:
            await guard.stand_in(self._keeper)
        return settings.beat if guard.open else settings.idle_beat

    def _pass_on(self, worker: int, signals: list[Signal]) -> None:
        for one in signals:
            if one.kind == "retired":
                self._guard.tell(line("r", f"{worker} {one.reason}"))
            else:
                self._guard.tell(json_line("s", one._asdict()))

    def fence_if_too_long(self) -> None:
        if not self._fenced and time.monotonic() - self._last_ok > self._guard.settings.fence_after:
            self._fenced = True
            self._guard.tell(line("f"))

    def _stopped_too_long(self) -> bool:
        """A worker that somebody has stopped (SIGSTOP) is not beaten for for ever."""
        if not self._guard.is_stopped():
            self._stopped_since = None
            return False
        now = time.monotonic()
        self._stopped_since = self._stopped_since or now
        return now - self._stopped_since > self._guard.settings.expiry


class Fence(Service):
    """Looks at the clock beside the beats: one that hangs must not hold up the fence that its silence calls for."""

    name = "fence"

    def __init__(self, guard: Guard, beats: Beats) -> None:
        super().__init__()
        self._guard, self._beats = guard, beats

    async def run_once(self) -> float:
        self._beats.fence_if_too_long()
        return self._guard.settings.fence_after / 20
