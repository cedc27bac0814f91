"""The permits of one process.

A process has holds as numbers in its row of `permit_use`; who in it has them is known here alone. A hold that is given back goes
to the next waiter of this process without a word to the database, or back to it: when nobody here waits, or when somebody else
has waited for a second.

One thread makes all calls, one at a time, so that the absolute numbers they carry are in order. What it tells is never below the
truth: a grant counts once it is committed, a hold that has ended counts until the database has been told.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import psycopg

from lanework._limits.holds import Grant, Slot, Waiter
from lanework._store.connect import connect
from lanework._store.keeper import is_broken
from lanework._store.permits import Taken, take_permits
from lanework._store.verb import run
from lanework._store.workers import beat, end_worker, reap, start_worker
from lanework.config import Settings
from lanework.errors import PermitBusy, WorkerRetired

logger = logging.getLogger("lanework")

#: A hold is passed on within the process for so long while others wait for it.
PASS_ON_S = 1.0
#: How often a process says what it has, and hears who else waits.
TELL_S = 1.0
#: How often one that waits asks again, should the hint be lost.
ASK_S = 0.1


class PermitPool:
    """`worker_id`: the row of the worker that it belongs to; None: it has a row, and beats, of its own."""

    def __init__(self, dsn: Callable[[], str], settings: Settings, worker_id: int | None = None) -> None:
        self._dsn, self._settings = dsn, settings
        self._worker_id = worker_id
        self._own_row = worker_id is None
        self._changed = threading.Condition()
        self._counts: Counter[str] = Counter()
        self._capacities: dict[str, int | None] = {}
        self._holders: dict[str, Grant] = {}
        self._waiting: deque[Waiter] = deque()
        self._dirty: set[str] = set()
        self._told: list[Future[None]] = []
        self._awaited: frozenset[str] = frozenset()
        self._in_line: set[tuple[str, ...]] = set()  # what the database knows that some here wait for: it gives a hint
        self._ask_now = False
        self._calls = 0
        self._generation = 0
        self._next_tell = 0.0
        self._next_beat = 0.0
        self._next_reap = 0.0
        self._last_ok = time.monotonic()
        self._stopping = False
        self._conn: psycopg.Connection[Any] | None = None
        self._local: dict[str, int] = {}
        self._thread: threading.Thread | None = None
        self.pid = os.getpid()

    # -- what callers do -----------------------------------------------------------------------------------------------

    def acquire(self, names: Sequence[str], capacity: int | None, *, job: int | None = None, once: bool = False) -> Waiter:
        """Asks for one of each name together. The waiter's future has the grant; who stops waiting says `abandon`."""
        waiter = Waiter(tuple(sorted(set(names))), job, once)
        with self._changed:
            for name in waiter.names:
                self._capacities.setdefault(name, capacity)
            behind = waiter.names in self._in_line and any(one.names == waiter.names for one in self._waiting)
            self._waiting.append(waiter)
            if once or not behind:  # who is behind others that were told to wait would be told the same
                self._ask_now = True
                self._start()
                self._changed.notify()
        return waiter

    def acquire_here(self, names: Sequence[str], capacity: int, *, job: int | None = None, once: bool = False) -> Waiter:
        """Of this process alone: the database hears nothing of it."""
        waiter = Waiter(tuple(sorted(f"{name}@process" for name in set(names))), job, once)
        with self._changed:
            for name in waiter.names:
                self._local.setdefault(name, capacity)
            self._waiting.append(waiter)
            self._serve_here()
            if once and waiter.grant is None:
                self._waiting.remove(waiter)
                _refuse(waiter)
        return waiter

    def release(self, grant: Grant) -> Future[None]:
        """Gives it to the next waiter, or back; the future is done when the database knows."""
        told: Future[None] = Future()
        with self._changed:
            if self._holders.pop(grant.token, None) is None or grant.generation != self._generation:
                told.set_result(None)
                return told
            given_back = [slot for slot in grant.slots if not self._pass_on(slot)]
            for slot in given_back:
                self._counts[slot.name] -= 1
                if slot.name not in self._local:
                    self._dirty.add(slot.name)
            self._serve_here()
            if self._dirty:
                self._told.append(told)
                self._changed.notify()
            else:
                told.set_result(None)
        return told

    def abandon(self, waiter: Waiter) -> None:
        """Whoever waited does not any more; what came at the same moment is given back."""
        with self._changed:
            waiter.future.cancel()
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                self._dirty.update(name for name in waiter.names if name not in self._local)
                self._changed.notify()
            grant = waiter.grant
        if grant is not None:
            self.release(grant)

    def hint(self, name: str) -> None:
        """Somebody has given one back."""
        with self._changed:
            if any(name in waiter.names for waiter in self._waiting):
                self._ask_now = True
                self._changed.notify()

    def retired(self, worker_id: int) -> None:
        """The worker has a new row: what the old one had is gone."""
        with self._changed:
            self._lose("its worker was declared dead")
            self._worker_id = worker_id

    def stop(self, timeout: float = 5.0) -> None:
        with self._changed:
            self._stopping = True
            for waiter in self._waiting:
                _refuse(waiter)
            self._waiting.clear()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout)

    # -- holds within the process --------------------------------------------------------------------------------------

    def _pass_on(self, slot: Slot) -> bool:
        if slot.name in self._local or not slot.fences:
            return False
        if slot.name in self._awaited and time.monotonic() - slot.taken_at > PASS_ON_S:
            return False
        waiter = next((one for one in self._waiting if slot.name in one.names and not one.gone), None)
        if waiter is None or len(waiter.names) > 1:  # several together are given by the database
            return False
        self._waiting.remove(waiter)
        return self._give(waiter, (slot,))

    def _give(self, waiter: Waiter, slots: tuple[Slot, ...]) -> bool:
        """False if nobody waits there any more."""
        if not waiter.future.set_running_or_notify_cancel():
            return False
        fences = [slot.fences.popleft() for slot in slots]
        grant = Grant(waiter.names, slots, max(fences, default=0), waiter.job, self._generation)
        self._holders[grant.token] = waiter.grant = grant
        waiter.future.set_result(grant)
        return True

    def _serve_here(self) -> None:
        for waiter in [one for one in self._waiting if one.names[0] in self._local]:
            if waiter.gone:
                self._waiting.remove(waiter)
            elif all(self._counts[name] < self._local[name] for name in waiter.names):
                self._waiting.remove(waiter)
                self._counts.update(waiter.names)
                self._give(waiter, tuple(Slot(name, deque([0]), 0.0) for name in waiter.names))

    def _lose(self, why: str) -> None:
        lost = [grant for grant in self._holders.values() if grant.names[0] not in self._local]
        if lost:
            logger.error("%d holds of permits are lost: %s", len(lost), why)
        for grant in lost:
            grant.lost = True
            del self._holders[grant.token]
        for name in [name for name in self._counts if name not in self._local]:
            del self._counts[name]
        self._generation += 1
        for grant in self._holders.values():
            grant.generation = self._generation
        self._dirty.clear()
        self._calls = 0
        self._awaited = frozenset()
        self._in_line.clear()

    # -- the thread that talks -----------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="lanework-permits", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        failures = 0
        while True:
            with self._changed:
                while not self._due():
                    self._changed.wait(self._pause())
                if self._stopping and not self._dirty:
                    break
                state, asks, groups, told = self._request()
            try:
                taken = self._call(state, asks)
                failures = 0
            except Exception as error:
                failures += 1
                self._failed(error, [one["name"] for one in state], told, failures)
            else:
                with self._changed:
                    self._take(taken, groups)
                for one in told:
                    one.set_result(None)
        self._end()

    def _due(self) -> bool:
        return self._stopping or bool(self._dirty) or self._ask_now or self._pause() <= 0

    def _pause(self) -> float:
        """Seconds to the next call that nobody has asked for."""
        next_at = self._next_beat if self._own_row and self._worker_id is not None else self._next_tell + 3600.0
        if any(waiter.names[0] not in self._local for waiter in self._waiting):
            next_at = min(next_at, self._next_tell - TELL_S + ASK_S)
        elif any(self._counts[name] for name in self._counts if name not in self._local):
            next_at = min(next_at, self._next_tell)
        return next_at - time.monotonic()

    def _request(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[list[Waiter]], list[Future[None]]]:
        """What to say and what to ask for: the absolute numbers of all names that have any, and the waiters in their order."""
        self._ask_now = False
        groups: dict[tuple[str, ...], list[Waiter]] = {}
        for waiter in [one for one in self._waiting if one.gone]:
            self._waiting.remove(waiter)
        for waiter in self._waiting:
            if waiter.names[0] not in self._local and len(group := groups.setdefault(waiter.names, [])) < 1000:
                group.append(waiter)
        queued = Counter(name for waiter in self._waiting if not waiter.once for name in waiter.names)
        asked = {name for names in groups for name in names}
        names = self._dirty | asked | {name for name, count in self._counts.items() if count and name not in self._local}
        jobs: dict[str, list[int]] = {name: [] for name in names}
        for grant in self._holders.values():
            for name in grant.names:
                if grant.job is not None and name in jobs:
                    jobs[name].append(grant.job)
        state = [
            {
                "name": name, "held": self._counts[name], "waiting": queued[name], "jobs": jobs[name],
                "capacity": self._capacities.get(name),
            }
            for name in sorted(names)
        ]  # fmt: skip
        told, self._told, self._dirty = self._told, [], set()
        asks = [{"names": list(names), "n": len(group)} for names, group in groups.items()]
        return state, asks, list(groups.values()), told

    def _call(self, state: list[dict[str, Any]], asks: list[dict[str, Any]]) -> Taken:
        now = time.monotonic()
        conn = self._connection()
        if self._own_row and now >= self._next_beat:
            self._beat(conn)
        assert self._worker_id is not None
        self._calls += 1
        self._next_tell = now + TELL_S
        if not state:
            return Taken({}, frozenset())
        taken = run(conn, take_permits(self._worker_id, self._calls, state, asks))
        self._last_ok = time.monotonic()
        return taken

    def _take(self, taken: Taken, groups: list[list[Waiter]]) -> None:
        self._awaited = taken.awaited
        self._in_line = {group[0].names for ask, group in enumerate(groups) if taken.granted.get(ask, (0, ()))[0] < len(group)}
        now = time.monotonic()
        for ask, (count, fences) in taken.granted.items():
            queue = deque(groups[ask])
            names = groups[ask][0].names
            many = len(fences) // max(count, 1)
            for n in range(count):
                part = fences[n * many : (n + 1) * many]
                slots = tuple(Slot(name, deque(part[i :: len(names)]), now) for i, name in enumerate(names))
                self._counts.update(names)
                if not self._hand_out(queue, slots):
                    self._counts.subtract(names)
                    self._dirty.update(names)
            for waiter in queue:
                if waiter.once and not waiter.gone:
                    self._waiting.remove(waiter)
                    _refuse(waiter)

    def _hand_out(self, queue: deque[Waiter], slots: tuple[Slot, ...]) -> bool:
        while queue:
            waiter = queue.popleft()
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                if self._give(waiter, slots):
                    return True
        return False

    def _failed(self, error: Exception, names: list[str], told: list[Future[None]], failures: int) -> None:
        """What was said may or may not have been heard: it is said again, and counts until then."""
        if self._conn is not None:
            self._conn.close()
            self._conn = None
        with self._changed:
            self._told += told
            self._dirty.update(names)
            if isinstance(error, WorkerRetired) and self._own_row:
                self._lose(str(error))
                self._worker_id = None
            elif time.monotonic() - self._last_ok > self._settings.fence_after:
                self._lose("the database could not be reached")
            if self._stopping:
                self._dirty.clear()
            if failures == 1:
                logger.warning("permits: %s; it is tried again", error)
            self._next_tell = time.monotonic() + TELL_S
            self._changed.wait(min(0.05 * 2**failures, 1.0))

    # -- its row ---------------------------------------------------------------------------------------------------------

    def _connection(self) -> psycopg.Connection[Any]:
        if self._conn is None or is_broken(self._conn):
            if self._conn is not None:
                self._conn.close()
            self._conn = connect(self._dsn(), self._settings, f"{self._worker_id or 'new'}-permits")
        if self._worker_id is None:
            name = f"{socket.gethostname()}:{os.getpid()}"
            self._worker_id = run(self._conn, start_worker(
                name=name, host=socket.gethostname(), pid=os.getpid(), ttl=self._settings.expiry, lanes=["-"], types=[],
                info={"permits": True},
            ))  # fmt: skip
            self._next_beat = time.monotonic() + self._settings.beat
        return self._conn

    def _beat(self, conn: psycopg.Connection[Any]) -> None:
        assert self._worker_id is not None
        gap = max(self._settings.idle_beat, self._settings.beat) * 2 + 1
        signals = run(conn, beat(self._worker_id, [], 0, gap))
        if any(signal.kind == "retired" for signal in signals):
            raise WorkerRetired(f"process {self._worker_id} was declared dead")
        self._last_ok = time.monotonic()
        self._next_beat = time.monotonic() + self._settings.beat
        if time.monotonic() >= self._next_reap:  # there may be no worker to do it
            self._next_reap = time.monotonic() + self._settings.sweep
            run(conn, reap(self._worker_id))

    def _end(self) -> None:
        try:
            if self._own_row and self._worker_id is not None:
                run(self._connection(), end_worker(self._worker_id, state="stopped", because="stopped", suspect=False))
        except Exception as error:
            logger.debug("permits: the last word did not get through: %s", error)
        finally:
            if self._conn is not None:
                self._conn.close()

    # -- how it is doing -------------------------------------------------------------------------------------------------

    def held(self) -> Mapping[str, int]:
        with self._changed:
            return {name: count for name, count in self._counts.items() if count}


def _refuse(waiter: Waiter) -> None:
    if waiter.future.set_running_or_notify_cancel():
        name = waiter.names[0] if len(waiter.names) == 1 else ", ".join(waiter.names)
        waiter.future.set_exception(PermitBusy(f"permit {name!r} is not free", name=waiter.names[0]))
