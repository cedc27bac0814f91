"""The guard of one worker: beats for it while it lives, and gives back what it held when it is dead."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import time
from dataclasses import replace
from typing import Any

from lanework import embedded
from lanework._guard.beats import Beats, Fence
from lanework._guard.housekeeper import Housekeeper
from lanework._guard.processes import end_all, kill_group, state_of, wait_for_death
from lanework._guard.rounds import Rounds
from lanework._guard.scheduler import Scheduler
from lanework._guard.wire import Lines
from lanework._services.service import Service
from lanework._store.claims import Held, settle
from lanework._store.keeper import AsyncKeeper
from lanework._store.workers import end_worker, overdue
from lanework.config import Settings
from lanework.retries import STALLED, TIMED_OUT, Verdict

logger = logging.getLogger("lanework")

#: The worker's loop says twice a second that it moves; after this long without a word it is stuck in somebody's code.
STUCK_AFTER = 1.5
#: After a stop was asked of a stuck worker, the guard carries it out itself: with the beat that sees it, within 2 s.
STUCK_GRACE = 1.0
KILL_STUCK_AFTER = 15.0
#: A database that is away for so long may never come back; if it does, the dead worker's silence speaks for itself.
GIVE_UP_AFTER = 600.0


class Guard:
    """Speaks with the worker over `sock`. `supervised`: the worker is our child, and we may kill it."""

    def __init__(self, sock: socket.socket, worker_pid: int, *, supervised: bool) -> None:
        sock.setblocking(False)
        self._sock, self._lines = sock, Lines(sock)
        self._pid, self._supervised = worker_pid, supervised
        self.worker_id = 0
        self.leads = False
        self.said_hello = asyncio.Event()
        self.open: set[int] = set()
        self.told = 0
        self.children: set[int] = set()
        self.jobs_of: dict[int, int] = {}
        self.leaving: str | None = None
        self._left = asyncio.Event()
        self.killed_because: str | None = None
        self._overruled = 0
        self.last_tick = time.monotonic()
        self.settings = Settings()
        self._lease: embedded.Lease | None = None
        self._beats: Beats | None = None
        self._services: list[Service] = []
        self._keeper: AsyncKeeper | None = None

    async def run(self, *, alive: bool = True) -> None:
        """Until the worker is dead, or has left while its process goes on. What it held is given back by `bury`."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._sock, self._read)
        death = asyncio.create_task(wait_for_death(self._pid))
        left = asyncio.create_task(self._left.wait())
        try:
            if alive:
                await asyncio.wait([death, left], return_when=asyncio.FIRST_COMPLETED)
        finally:
            death.cancel()
            left.cancel()
            loop.remove_reader(self._sock)
            self._read()  # its last words
            for service in self._services:
                await service.stop()

    async def bury(self, because: str) -> None:
        """Ends the worker's orphans first, and only then gives its claims back: never two bodies of one job."""
        await end_all(set(self.children), own_orphans=self._supervised)
        if self._keeper is None:
            return
        because = self.killed_because or self.leaving or because
        suspect = self.leaving is None and self.killed_because is None
        verb = end_worker(self.worker_id, state="dead" if suspect else "stopped", because=because, suspect=suspect)
        pause, until = 0.05, time.monotonic() + GIVE_UP_AFTER
        while time.monotonic() < until:
            try:
                ended = await self._keeper.run(verb)
            except Exception as error:
                logger.warning("worker %s is dead; its jobs are given back when the database answers (%s)", self.worker_id, error)
            else:
                if ended.given_back:
                    logger.warning("worker %s %s; %d jobs were given back", self.worker_id, because, ended.given_back)
                if not ended.remaining:
                    break
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)

    async def close(self) -> None:
        if self._keeper is not None:
            await self._keeper.close()
        if self._lease is not None:
            await asyncio.to_thread(self._lease.release)
        self._sock.close()

    # -- the worker's words --------------------------------------------------------------------------------------------

    def _read(self) -> None:  # noqa: PLR0912 - one branch per letter of the wire
        for kind, rest in self._lines.read():
            match kind:
                case "o":
                    self.told = max(self.told, int(rest))
                    self.open.add(int(rest))
                    if len(self.open) == 1 and self._beats is not None:
                        self._beats.busy()
                case "c":
                    self.open.discard(int(rest))
                case "t":
                    self.last_tick, self._overruled = time.monotonic(), 0
                case "p":
                    self.children.add(int(rest))
                case "x":
                    self.children.discard(int(rest))
                    self.jobs_of = {job: pid for job, pid in self.jobs_of.items() if pid != int(rest)}
                case "j":
                    pid, job = rest.split()
                    self.jobs_of[int(job)] = int(pid)
                case "n":
                    if self._beats is not None:
                        self._beats.wake()
                case "w":
                    self.look_now()
                case "l":
                    self.leaving = rest
                case "h":
                    self._hello(json.loads(rest))
        if self._lines.closed:
            with contextlib.suppress(ValueError, OSError):
                asyncio.get_running_loop().remove_reader(self._sock)
            # a companion's worker that said goodbye has left, although its process goes on; without it, only death counts
            if self.leaving is not None and not self._supervised:
                self._left.set()

    def _hello(self, words: dict[str, Any]) -> None:
        """First words, or those of a worker that has a new number."""
        again = self.said_hello.is_set()
        self.worker_id, self.open, self.told = words["worker"], set(words["open"]), words["told"]
        self.settings = Settings(**words["settings"])
        self.children |= set(words["children"])
        self.said_hello.set()
        if again:
            return
        if words["embedded"]:
            self._lease = embedded.acquire(words["embedded"])
        # one connection for both: a round of maintenance must not hold up the beats for long
        limited = replace(self.settings, statement_timeout=max(min(self.settings.fence_after / 4, 5.0), 1.0))
        self._keeper = AsyncKeeper(words["dsn"], limited, f"{self.worker_id}-guard", 1)
        self._beats = Beats(self, self._keeper)
        self._services = [self._beats, Fence(self, self._beats), Rounds(self, self._keeper)]
        self._services += [Scheduler(self, self._keeper), Housekeeper(self, self._keeper, words["dsn"])]
        for service in self._services:
            service.start()

    def look_now(self, *, house_in: float = 0.0) -> None:
        """A schedule or a task has changed, or we lead from now on: then the house can wait a moment."""
        loop = asyncio.get_running_loop()
        for service in self._services:
            if isinstance(service, (Scheduler, Housekeeper)):
                loop.call_later(house_in if isinstance(service, Housekeeper) else 0.0, service.wake)

    def tell(self, message: bytes) -> None:
        with contextlib.suppress(OSError):
            self._sock.send(message)

    # -- a worker that cannot act itself ---------------------------------------------------------------------------------

    @property
    def is_stuck(self) -> bool:
        return time.monotonic() - self.last_tick > STUCK_AFTER

    def kill_worker(self, because: str) -> None:
        logger.error("worker %s: %s; it is killed and started again", self.worker_id, because)
        self.killed_because = because
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    async def stand_in(self, keeper: AsyncKeeper) -> None:
        """Deadlines and cancels while the worker's loop is stuck: children are killed, other bodies fenced in the database."""
        rows = await keeper.run(overdue(self.worker_id, STUCK_GRACE))
        ends = [(Held(id, attempt, claim), _verdict(timeout, kind, reason)) for id, attempt, claim, timeout, kind, reason in rows]
        for held, _ in ends:
            if held.id in self.jobs_of:
                kill_group(self.jobs_of[held.id])
        if ends:
            await keeper.run(settle(self.worker_id, ends))
            self._overruled = self._overruled or ends[0][0].id
        if self._supervised and self._overruled and time.monotonic() - self.last_tick > KILL_STUCK_AFTER:
            self.kill_worker(f"its event loop was blocked, by job {self._overruled} it seems")

    def is_stopped(self) -> bool:
        return state_of(self._pid) in ("T", "t")


def _verdict(timeout: float | None, kind: str | None, reason: str | None) -> Verdict:
    match kind:
        case "cancel":
            return Verdict("cancel", reason=reason)
        case "expired":
            return Verdict("fail", error_class="timeout", error_code=TIMED_OUT, error=reason)
        case "stalled":
            return Verdict("retry", delay_s=1.0, uses_try=True, error_class="stalled", error_code=STALLED, error=reason)
    text = f"ran longer than its timeout of {timeout} s, and its process could not be asked to stop it"
    return Verdict("retry", delay_s=1.0, uses_try=True, error_class="timeout", error_code=TIMED_OUT, error=text)
