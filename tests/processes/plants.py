"""Bugs to plant in the processes of a test: each one must turn the test that it belongs to red.

The harness names one in LANEWORK_TEST_PLANT; `early/sitecustomize.py` plants it in every process, guard, worker and child alike.
Bugs in the SQL are planted in the test's database instead, see `test_would_notice.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

PLANTS: dict[str, Callable[[], None]] = {}


def a_plant(function: Callable[[], None]) -> Callable[[], None]:
    PLANTS[function.__name__] = function
    return function


def plant(names: str) -> None:
    for name in names.split(","):
        PLANTS[name]()


# -- not bugs: what makes a test short, or makes something fail that must be survived -------------------------------------


@a_plant
def impatient() -> None:
    """A blocked worker is killed after 9 s, not 15."""
    from lanework._guard import guard

    guard.KILL_STUCK_AFTER = 9.0


@a_plant
def failing_poller() -> None:
    """The poller dies three times, later than its first success."""
    from lanework._services.poller import Poller

    right, rounds = Poller.run_once, iter(range(1_000_000))

    async def run_once(self: Poller) -> float:
        if next(rounds) in (1, 2, 3):
            raise RuntimeError("planted: the poller dies")
        return await right(self)

    Poller.run_once = run_once  # type: ignore[method-assign]


# -- bugs --------------------------------------------------------------------------------------------------------------


@a_plant
def blind_guard() -> None:
    """The guard does not see its worker die; it goes on beating."""
    from lanework._guard import guard

    async def wait_for_death(pid: int) -> None:
        await asyncio.sleep(1000)

    guard.wait_for_death = wait_for_death


@a_plant
def deaf_worker() -> None:
    """The worker does not see its guard die."""
    from lanework._guard import link

    async def wait_for_death(pid: int) -> None:
        await asyncio.sleep(1000)

    link.wait_for_death = wait_for_death


@a_plant
def claims_stay_open() -> None:
    """A claim whose answer was lost still counts as known."""
    from lanework._guard.link import GuardLink

    GuardLink.close_claim = lambda self, no: None  # type: ignore[method-assign]


@a_plant
def lost_finish() -> None:
    """A finish whose answer was lost is not sent again, and its claim is closed."""
    from lanework._services.lane import Lane

    async def failed(self: Lane, error: BaseException, done: Any, *more: Any) -> float:
        for run, _ in done:
            self._settled_some(run.no)
        return 0.0

    Lane._failed = failed  # type: ignore[method-assign]


@a_plant
def beats_for_the_stopped() -> None:
    """A worker that was stopped is beaten for for ever."""
    from lanework._guard.guard import Beats

    Beats._stopped_too_long = lambda self: False  # type: ignore[method-assign]


@a_plant
def loop_beats() -> None:
    """The heartbeat lives on the worker's event loop: no beat while the loop does not move."""
    from lanework._guard.guard import Beats

    right = Beats.run_once

    async def run_once(self: Beats) -> float:
        if time.monotonic() - self._guard.last_tick > 1.0:
            return 0.1
        return await right(self)

    Beats.run_once = run_once  # type: ignore[method-assign]


@a_plant
def no_drain() -> None:
    """SIGTERM ends the worker at once, whatever runs."""
    from lanework.worker import Worker

    async def stop(self: Worker) -> None:
        raise SystemExit(0)

    Worker.stop = stop  # type: ignore[method-assign]


@a_plant
def claims_while_draining() -> None:
    from lanework._services.lane import Lane
    from lanework.worker import Worker

    Worker.capacity = lambda self, lane: 100  # type: ignore[method-assign]
    Lane.draining = property(lambda self: False, lambda self, value: None)  # type: ignore[assignment]
    from lanework import worker

    worker.drain_worker = lambda id: worker.end_worker(0, state="stopped", because="", suspect=False)  # type: ignore[assignment, return-value]


@a_plant
def releases_threads() -> None:
    """What runs in a thread is given back although its body goes on."""
    from lanework._pools.base import Quarantined
    from lanework._services.run import Run

    right = Run.main

    async def main(self: Run, payload: str, checkpoint: str | None) -> None:
        executor = self.executor
        if executor is not None:
            inner = executor.run

            async def run(call: Any) -> Any:
                try:
                    return await inner(call)
                except Quarantined:
                    self._settle(self._verdict_of_stop())
                    raise

            self.executor = type("Hasty", (), {"run": staticmethod(run)})()
        await right(self, payload, checkpoint)

    Run.main = main  # type: ignore[method-assign]


@a_plant
def all_to_blame() -> None:
    """The death of a shared process is a loss for every job in it, and nobody is a suspect."""
    from lanework._guard.guard import Guard
    from lanework._store.claims import Held, settle
    from lanework.retries import Verdict

    right = Guard.bury

    async def bury(self: Guard, because: str) -> None:
        if self._keeper is not None:
            async with self._keeper.connection() as conn:
                sql = "select id, attempt, claim_id::text from lanework.jobs where worker_id = %s"
                rows = await (await conn.execute(sql, [self.worker_id])).fetchall()
            blame = Verdict("retry", uses_try=True, loss=True, error_class="worker_lost", error=because, cause=because)
            if rows:
                await self._keeper.run(settle(self.worker_id, [(Held(*row), blame) for row in rows]))
        await right(self, because)

    Guard.bury = bury  # type: ignore[method-assign]


@a_plant
def no_give_up() -> None:
    """An async body that does not end when asked is waited for."""
    from lanework._services.run import Run

    Run._give_up = lambda self: None  # type: ignore[method-assign]


@a_plant
def free_slots() -> None:
    """The slot of a body that goes on is free as soon as its claim is given up."""
    from lanework._services.lane import Lane
    from lanework._services.run import Run

    right = Lane.ended

    def ended(self: Lane, run: Run, verdict: Any) -> None:
        right(self, run, verdict)
        if run.task is not None and not run.task.done():
            self._release(run.row.type_id)
            self._hungry = True

    Lane.ended = ended  # type: ignore[method-assign]


@a_plant
def no_stand_in() -> None:
    """Nobody keeps deadlines while the worker's loop is blocked."""
    from lanework._guard.guard import Guard

    async def stand_in(self: Guard, *more: Any) -> None:
        return None

    Guard.stand_in = stand_in  # type: ignore[method-assign]


@a_plant
def no_kill() -> None:
    """A process job is asked to stop, and never made to."""
    from lanework._child.process import Child

    Child.kill = lambda self, verdict: None  # type: ignore[method-assign]


@a_plant
def no_sweep() -> None:
    """Nobody looks for stale and overdue jobs."""
    from lanework._guard.guard import Rounds

    async def run_once(self: Rounds) -> float:
        return 0.5

    Rounds.run_once = run_once  # type: ignore[method-assign]


@a_plant
def one_pool() -> None:
    """All lanes share their threads and children."""
    from lanework.worker import Worker

    right = Worker.executor

    def executor(self: Worker, lane: Any, handler: Any, suspect: bool) -> Any:
        first = self.lanes["maintenance"]
        return right(self, first, handler, suspect)

    Worker.executor = executor  # type: ignore[method-assign]
    Worker.capacity = lambda self, lane: 5  # type: ignore[method-assign]


@a_plant
def only_positions() -> None:
    """A claim never reads the index from the top, where a retry may have put a row."""
    from lanework._services.positions import Positions

    right = Positions.ranges

    def ranges(self: Positions, types: Any, versions: Any, *, from_top: bool) -> Any:
        return right(self, types, versions, from_top=not self._at)

    Positions.ranges = ranges  # type: ignore[method-assign]
    from lanework._services import positions

    positions.LAG = 0


@a_plant
def no_orphans_ended() -> None:
    """The guard gives claims back without ending what the worker has left behind."""
    from lanework._guard import guard

    async def end_all(pids: set[int], *, own_orphans: bool) -> None:
        return None

    guard.end_all = end_all


@a_plant
def only_leaders_ended() -> None:
    """The guard ends its children, but not what these have started."""
    from lanework._guard import guard, processes

    async def end_all(pids: set[int], *, own_orphans: bool) -> None:
        for pid in pids:
            while not processes.is_gone(pid):
                await asyncio.sleep(0.01)

    guard.end_all = end_all


@a_plant
def hasty_start() -> None:
    """A start hook that fails is only mentioned."""
    from lanework.hooks import Hooks

    right = Hooks.run

    async def run(self: Hooks, functions: Any) -> None:
        try:
            await right(self, functions)
        except Exception:
            return

    Hooks.run = run  # type: ignore[method-assign]


@a_plant
def services_stay_dead() -> None:
    """A background service that dies is not restarted."""
    from lanework._services.service import Service

    async def loop(self: Service) -> None:
        while True:
            self._wake.clear()
            pause = await self.run_once()
            self.health.state = "running"
            if pause > 0:
                await self._sleep(pause)

    Service._loop = loop  # type: ignore[method-assign]


@a_plant
def own_clock() -> None:
    """A beat is stamped with the clock of the machine that sends it."""
    from lanework._guard.guard import Beats

    right = Beats.run_once

    async def run_once(self: Beats) -> float:
        pause = await right(self)
        async with self._keeper.connection() as conn:
            await conn.execute(
                "update lanework.workers set seen_at = to_timestamp(%s) where id = %s", [time.time(), self._guard.worker_id]
            )
        return pause

    Beats.run_once = run_once  # type: ignore[method-assign]
