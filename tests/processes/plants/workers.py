"""Bugs of the worker, its lanes and its pools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lanework._pools.base import Quarantined
from lanework._services.finishes import tell_lost
from tests.processes.plants import a_plant, get, put

WORKER, LANE, RUN = "lanework.worker:Worker", "lanework._services.lane:Lane", "lanework._services.run:Run"


def fixed(value: Any) -> property:
    """An attribute that cannot be changed."""
    return property(lambda self: value, lambda self, other: None)


@a_plant
def no_read_back() -> None:
    """A finish that changes nothing counts as a lost claim at once."""

    async def read_back(self: Any, done: Any) -> None:
        tell_lost([run for run, _ in done], {})

    put("lanework._services.finishes:Finishes", "read_back", read_back)


@a_plant
def no_drain() -> None:
    """SIGTERM ends the worker at once, whatever runs."""

    async def stop(self: Any) -> None:
        raise SystemExit(0)

    put(WORKER, "stop", stop)


@a_plant
def claims_while_draining() -> None:
    """It says that it drains, and goes on as before."""
    put(WORKER, "capacity", lambda self, lane: 100)
    put(LANE, "draining", fixed(False))


@a_plant
def hasty_idle() -> None:
    """A lane counts as idle while its last finishes are on their way."""
    put(LANE, "_calling", fixed(False))


@a_plant
def releases_threads() -> None:
    """What runs in a thread is given back although its body goes on."""
    put(RUN, "_given_back_later", fixed(False))


@a_plant
def no_give_up() -> None:
    """An async body that does not end when asked is waited for."""
    put(RUN, "_give_up", lambda self: None)


@a_plant
def thread_is_waited_for() -> None:
    """A thread's job is reported only when its body has ended."""

    async def stop(self: Any, order: Any) -> None:
        try:
            await right(self, order)
        except Quarantined as stuck:
            await stuck.ended

    right = put("lanework._pools.thread:ThreadPool", "_stop", stop)


@a_plant
def free_slots() -> None:
    """The slot of a body that goes on is free as soon as its claim is given up."""

    def ended(self: Any, run: Any, verdict: Any) -> None:
        right(self, run, verdict)
        if run.task is not None and not run.task.done():
            self.release(run.row.type_id)

    right = put(LANE, "ended", ended)


@a_plant
def no_kill() -> None:
    """A process job is asked to stop, and never made to."""
    put("lanework._child.process:Child", "kill", lambda self, verdict: None)


@a_plant
def no_share() -> None:
    """A full lane leaves no place of the process's limits to the others."""

    def share(limit: int, lane: Any, others: list[Any]) -> int:
        return int(max(limit - sum(other.used for other in others), 0))

    put(WORKER, "_share", staticmethod(share))


@a_plant
def only_positions() -> None:
    """A claim never reads the index from the top again, where a retry may have put a row."""

    def ranges(self: Any, types: Any, versions: Any, *, from_top: bool) -> Any:
        return right(self, types, versions, from_top=not self._at)

    right = put("lanework._services.positions:Positions", "ranges", ranges)
    put("lanework._services.positions", "LAG", 0)


@a_plant
def tells_hints() -> None:
    """No bug: a test can wait until a worker has heard that rows were put before those that it has claimed last."""

    def rescan(self: Any) -> None:
        right(self)
        (Path(os.environ["LANEWORK_TEST_FOLDER"]) / f"heard-{self.name}").touch()

    right = put(LANE, "rescan", rescan)


@a_plant
def hasty_start() -> None:
    """A start hook that fails is only mentioned."""

    async def run(self: Any, functions: Any) -> None:
        try:
            await right(self, functions)
        except Exception:
            return

    right = put("lanework.hooks:Hooks", "run", run)


@a_plant
def no_child_hooks() -> None:
    """A child takes jobs without its start hooks."""
    put("lanework._child.desk", "run_hooks", lambda app, name, runner: None)


@a_plant
def hasty_children() -> None:
    """A child whose start hook fails takes jobs all the same."""

    def run_hooks(app: Any, name: str, runner: Any) -> None:
        try:
            right(app, name, runner)
        except Exception:
            return

    right = put("lanework._child.desk", "run_hooks", run_hooks)


@a_plant
def late_child_hooks() -> None:
    """The start hooks of a child run when it has done its first job."""

    def take(self: Any, job: Any) -> None:
        right_take(self, job)
        if not hasattr(self, "started"):
            self.started = True
            run_hooks(self._app, "child_start", self._runner)

    def start(self: Any) -> None:
        put("lanework._child.desk", "run_hooks", lambda app, name, runner: None)
        right_start(self)
        put("lanework._child.desk", "run_hooks", run_hooks)

    run_hooks = get("lanework._child.desk").run_hooks
    right_take = put("lanework._child.desk:Desk", "_take", take)
    right_start = put("lanework._child.desk:Desk", "start", start)


@a_plant
def services_stay_dead() -> None:
    """A background service that dies is not restarted."""

    async def loop(self: Any) -> None:
        while True:
            self._wake.clear()
            pause = await self.run_once()
            self.health.state = "running"
            if pause > 0:
                await self._sleep(pause)

    put("lanework._services.service:Service", "_loop", loop)
