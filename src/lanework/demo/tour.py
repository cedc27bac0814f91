"""The tour, act by act. Every wait ends: with what it waited for, or with `Unexpected`, which says what did not happen."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lanework import Handle, JobInfo, Lanework
from lanework._words import count
from lanework.cli.snapshot import Snapshot, take
from lanework.demo.crew import Crew
from lanework.demo.jobs import Jobs
from lanework.demo.proof import Moments
from lanework.demo.stage import Stage
from lanework.errors import LaneNotFound
from lanework.reports import WorkerInfo

T = TypeVar("T")
LANES = {"interactive": 2, "maintenance": 1}
MORE_SLOTS = 4
THUMBNAILS, MORE_THUMBNAILS, PARTS = 6, 14, 24
KILL_AT = 0.35
PATIENCE = 90.0
FRAME = 0.2


class Unexpected(Exception):
    """Something did not happen as it should: the tour ends, with exit code 1."""


class Tour:
    def __init__(self, app: Lanework, jobs: Jobs, crew: Crew, stage: Stage) -> None:
        self._app, self._jobs, self._crew, self._stage = app, jobs, crew, stage
        self.moments = Moments()
        self.handles: list[Handle[Any]] = []

    def play(self) -> None:
        self._open()
        self._first_jobs()
        self._kill()
        self._retry()
        self._cancel()
        self._slots()
        self._finish()

    # -- acts ----------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._stage.title("Two lanes, two workers")
        for name, slots in LANES.items():
            self._set_lane(name, slots)
        found = self._until("the workers to come up", lambda: _two(self._app.workers()))
        self._stage.good(f"workers {' and '.join(one.name for one in found)} serve both lanes")

    def _first_jobs(self) -> None:
        self._stage.title("Jobs with live progress")
        self.report = self._keep(self._jobs.report.submit(PARTS))
        small = [self._keep(self._jobs.thumbnail.submit(f"photo-{n}")) for n in range(THUMBNAILS)]
        self._stage.say(f"{count(len(small), 'thumbnail')} submitted, and a report of {PARTS} parts")
        self._until("the thumbnails to be done", lambda: _all_ended(small))
        self._stage.good(f"{count(len(small), 'thumbnail')} done, two at a time")

    def _kill(self) -> None:
        self._stage.title("A worker dies")
        victim = self._until("the report to be under way", self._under_way)
        worker = next(one for one in self._app.workers() if one.id == victim.worker_id)
        self.moments.killed = take(self._app).now
        os.kill(worker.pid, signal.SIGKILL)
        self._stage.say(f"kill -9 {worker.pid}: {worker.name} is gone, with part of the report in its hands", "yellow")
        again = self._until("another worker to take the report", lambda: self._taken_again(victim))
        self.moments.first_worker, self.moments.second_worker = worker.name, self._name_of(again)
        self._stage.good(f"{self.moments.second_worker} goes on with it from its checkpoint, as attempt {again.attempt}")
        self._until(f"{worker.name} to be started again", lambda: _two(self._app.workers()))
        self._stage.say(f"{worker.name}'s supervisor has started it again")

    def _retry(self) -> None:
        self._stage.title("An error that passes")
        job = self._keep(self._jobs.fetch.submit("weather"))
        failed = self._until("the first try to fail", lambda: self._app.attempts(job.id))
        self._stage.say(f"job {job.id}: {failed[0].error}", "yellow")
        self._until("the second try to succeed", lambda: job.info().status == "completed")
        self._stage.good(f"job {job.id}: tried again, and done")

    def _cancel(self) -> None:
        self._stage.title("A change of mind")
        self.film = self._jobs.film.submit("a long film")
        self._until("the film to start", lambda: self.film.info().status == "running")
        asked = time.monotonic()
        self._stage.say(f"job {self.film.id} would take an hour: cancel it")
        self.film.cancel("the tour has no hour")
        self._until("the film to stop", lambda: self.film.info().status == "cancelled")
        self._stage.good(f"job {self.film.id} stopped after {time.monotonic() - asked:.1f} s")

    def _slots(self) -> None:
        self._stage.title("More slots, while everything runs")
        handles = self._jobs.thumbnail.submit_many([(f"holiday-{n}",) for n in range(MORE_THUMBNAILS)])
        self.handles += handles
        self._until("two thumbnails to run", lambda: _used(take(self._app), "interactive") == LANES["interactive"])
        self._app.lanes.set("interactive", max_slots=MORE_SLOTS, by="demo")
        self.moments.widened = take(self._app).now
        self._stage.say(f"lane interactive: {LANES['interactive']} → {MORE_SLOTS} slots")
        more = self._until(
            "more of them to run at once", lambda: max(_used(take(self._app), "interactive") - LANES["interactive"], 0)
        )
        self._stage.good(f"{more} more run at once; no worker was restarted for it")
        self._until("the thumbnails to be done", lambda: _all_ended(handles))

    def _finish(self) -> None:
        self._stage.title("The end")
        self._until("the report to be done", lambda: self.report.info().finished)
        self._stage.good(f"report done, {count(len(self.handles), 'job')} completed")
        self._stage.say("stopping the workers")
        self._stage.clear()

    # -- help ----------------------------------------------------------------------------------------------------------

    def _keep(self, handle: Handle[Any]) -> Handle[Any]:
        """A job that must be completed in the end."""
        self.handles.append(handle)
        return handle

    def _set_lane(self, name: str, slots: int) -> None:
        try:
            self._app.lanes.set(name, max_slots=slots, poll_interval_ms=1000, by="demo")
        except LaneNotFound:
            self._app.lanes.create(name, max_slots=slots, poll_interval_ms=1000, by="demo")
        self._stage.say(f"lane {name}: {count(slots, 'slot')} in the whole cluster")

    def _until(self, what: str, ask: Callable[[], T | None]) -> T:
        deadline = time.monotonic() + PATIENCE
        while not (answer := ask()):
            if dead := self._crew.dead():
                raise Unexpected(f"{' and '.join(dead)} ended by itself while the tour waited for {what}")
            if time.monotonic() > deadline:
                raise Unexpected(f"waited {PATIENCE:.0f} s for {what}")
            self._stage.draw(take(self._app))
            time.sleep(FRAME)
        self._stage.draw(take(self._app))
        return answer

    def _under_way(self) -> JobInfo | None:
        info = self.report.info()
        if info.finished:
            raise Unexpected(f"the report ended as {info.status} before a worker could be killed")
        return info if info.status == "running" and (info.progress or 0.0) >= KILL_AT else None

    def _taken_again(self, before: JobInfo) -> JobInfo | None:
        info = self.report.info()
        if info.finished and info.attempt == before.attempt:
            raise Unexpected(f"the report ended as {info.status} in the attempt whose worker was killed")
        return info if info.attempt > before.attempt and info.worker_id is not None else None

    def _name_of(self, info: JobInfo) -> str:
        return next((one.name for one in self._app.workers(ended=True) if one.id == info.worker_id), "another worker")


def _two(workers: list[WorkerInfo]) -> list[WorkerInfo] | None:
    living = [one for one in workers if one.state == "active"]
    return living if len({one.name for one in living}) == 2 else None


def _all_ended(handles: Sequence[Handle[Any]]) -> bool:
    return all(handle.info().finished for handle in handles)


def _used(seen: Snapshot, lane: str) -> int:
    return next(one.used for one in seen.lanes if one.name == lane)
