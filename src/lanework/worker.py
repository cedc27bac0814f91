"""A worker: one process's share of the work. It serves lanes, and is watched over by a guard that runs no job code."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lanework import _capture
from lanework._declaration import EXECUTORS as BUILT_IN
from lanework._guard.link import GuardLink
from lanework._limits.pool import PermitPool
from lanework._loading import in_child
from lanework._pools.base import Executor, StartedFirst, Unavailable
from lanework._pools.process import ProcessPool
from lanework._pools.thread import ThreadPool
from lanework._services.hooking import HookRunner
from lanework._services.lane import Lane
from lanework._services.listener import Listener
from lanework._services.poller import Poller
from lanework._services.recorder import Recorder
from lanework._services.service import Health, Service
from lanework._services.teller import Teller
from lanework._store.claims import Held
from lanework._store.hints import BEHIND, SCHEDULES, STOP
from lanework._store.inside import promote_sessions
from lanework._store.keeper import AsyncKeeper
from lanework._store.permits import ensure_permits
from lanework._store.workers import LaneView, end_worker, leave_worker, start_worker
from lanework.errors import ConfigError
from lanework.retries import Classifier

if TYPE_CHECKING:
    from lanework.client import Lanework
    from lanework.handlers import Handler

logger = logging.getLogger("lanework")

#: Connections for claims, finishes and what running jobs write. With LISTEN and the guard's one a worker has five.
CONNECTIONS = 3
#: What remains of the grace for children and async bodies to end after they were asked.
LAST_SECONDS = 8.0


class Worker:
    """`async with app.worker():` or `lanework worker module:app`.

    lanes      the lanes to serve; None: all
    name       shown in `workers`; host and process id by default
    """

    def __init__(self, app: Lanework, *, lanes: Sequence[str] | None = None, name: str | None = None, **settings: Any) -> None:
        self.app = app
        self.settings = app.settings.changed(**settings)
        self.lane_names = None if lanes is None else list(lanes)
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.worker_id = 0
        #: After a lost answer: two beats, and some.
        self.doubt_s = 2 * self.settings.beat + 1.0
        self.lanes: dict[str, Lane] = {}
        self.draining = asyncio.Event()
        self._calls = 0
        self._tasks: set[asyncio.Future[Any]] = set()
        self._types: dict[int, Handler] = {}
        self._versions: dict[int, int] = {}
        self._pools: dict[tuple[str, str], Executor] = {}
        self._fenced = False
        self.hooks: HookRunner | None = None
        self._services: list[Service] = []
        self._state = "new"
        self._begins: asyncio.Task[None] | None = None
        self._ends: asyncio.Task[None] | None = None

    # -- life ----------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        await self.stop()

    async def start(self) -> None:
        if not self.settings.worker:
            logger.info("LANEWORK_WORKER is off: this process works no jobs")
            self._state = "off"
            return
        if in_child():
            raise ConfigError(
                "a worker is started while a child process imports the application: "
                "put the start under `if __name__ == '__main__':`"
            )
        if self.app.handlers or self.app._lane_values:  # an application with neither was not meant to work
            self.app._declare_own()
        dsn = self.dsn = await self.app._prepare()
        self._types = {self.app._type_ids[handler.name]: handler for handler in self.app.handlers.values()}
        self._versions = {type_id: handler.version for type_id, handler in self._types.items()}
        for handler in self._types.values():
            if handler.executor not in (*BUILT_IN, *self.app.executors):
                known = ", ".join((*BUILT_IN, *self.app.executors))
                raise ConfigError(f"job {handler.name!r}: no executor is called {handler.executor!r}; there are {known}")
        if all(handler.name.startswith("lanework:") for handler in self._types.values()):  # the engine's own alone
            raise ConfigError("this application declares no job; a worker would have nothing to do")
        await self.app._plans.register()
        if not await self._run_start_hooks():
            return
        _capture.install()
        self.keeper = AsyncKeeper(dsn, self.settings, "worker", CONNECTIONS)
        self.teller = Teller(self.keeper)
        self.recorder = Recorder(self.keeper, self._claim_lost, self.settings.log_lines, self.app.secrets, self.told)
        self.poller = Poller(self.keeper, self.lane_names, list(self._types), self._seen)
        direct = self.settings.direct_dsn or dsn
        self.guard = GuardLink(
            direct, self.settings, embedded=self.app._embedded_folder, on_stop=self._on_stop, on_fence=self._on_fence,
            on_retired=self.retired, on_drain=self.draining.set,
        )  # fmt: skip
        await self._enter()
        await self._declare_permits()
        self._services = [self.recorder, self.poller, self.guard, self.teller]
        if self.settings.notify:
            self.listener = Listener(direct, self.settings, f"{self.worker_id}-listen", self._on_hint, self._look_again)
            self._services.append(self.listener)
        for service in self._services:
            service.start()
        if HookRunner.wanted(self.app.hooks):
            self.hooks = HookRunner(self.app)
            self.hooks.start()
        self._state = "running"
        self.app._workers.append(self)
        lanes = ", ".join(self.lane_names) if self.lane_names else "all lanes"
        logger.info("worker %s (%s) serves %s: %d job types", self.worker_id, self.name, lanes, len(self._types))

    async def _enter(self) -> None:
        """A row of our own, and a guard that beats for it, before anything is claimed."""
        self.worker_id = await self.keeper.run(
            start_worker(
                name=self.name, host=socket.gethostname(), pid=os.getpid(), ttl=self.settings.expiry,
                lanes=self.lane_names or [], types=list(self._types),
                info={
                    "max_jobs": self.settings.max_jobs, "connections": self.settings.connections, "clock": time.time(),
                    "versions": self._versions,
                },
            )
        )  # fmt: skip
        self.guard.hello(self.worker_id)

    async def _declare_permits(self) -> None:
        """Rows for the permits that types declare, and the pool for those that bodies take."""
        self.permits = PermitPool(lambda: self.dsn, self.settings, self.worker_id)
        first = {self.permit_name(name): most for one in self._types.values() for name, most in one.permits.items()}
        if first:
            await self.keeper.run(ensure_permits(list(first), list(first.values())))

    @staticmethod
    def permit_name(declared: str) -> str:
        return f"{declared.removesuffix('@host')}@{socket.gethostname()}" if declared.endswith("@host") else declared

    async def _run_start_hooks(self) -> bool:
        """A worker whose start hook fails takes no job: it says so and tries again, until it is told to drain."""
        pause = 1.0
        while not self.draining.is_set():
            try:
                await self.app.hooks.run(self.app.hooks.start)
                return True
            except Exception as error:
                self._state = f"start hook failed: {error}"
                logger.exception("a start hook failed; this worker takes no jobs until it succeeds")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.draining.wait(), pause)
            pause = min(pause * 2, 60.0)
        return False

    async def run(self) -> None:
        """Works until it is told to drain."""
        async with self:
            await self.draining.wait()

    async def stop(self) -> None:
        """Claims nothing more, lets jobs finish within the grace, gives the rest back with no try used."""
        if self._state != "running":
            return
        self._state = "draining"
        self.draining.set()
        for lane in self.lanes.values():
            lane.draining = True
        with contextlib.suppress(Exception):
            await self.keeper.run(leave_worker(self.worker_id))
        if not await self._quiet(self.settings.grace):
            self._stop_all("release", "its worker was stopped")
            await self._quiet(LAST_SECONDS)
        left = [run for lane in self.lanes.values() for run in lane.runs.values()]
        await self._leave(left=len(left))

    async def _leave(self, left: int) -> None:
        for service in (*self.lanes.values(), *self._services[: -1 if self.settings.notify else None]):
            if service is not self.guard:
                await service.stop()
        if self.settings.notify:
            await self.listener.stop()
        for pool in self._pools.values():
            await pool.stop()
        if self.hooks is not None:
            await self.hooks.stop()
        await asyncio.to_thread(self.permits.stop)
        with contextlib.suppress(Exception):
            await self.app.hooks.run(self.app.hooks.stop)
        _capture.uninstall()
        self.app._workers.remove(self)
        self._state = "stopped"
        if left:
            logger.warning("%d jobs did not end; they are given back when they have, or when this process has", left)
            self.guard.leaving("stopped")
            self._ends = asyncio.ensure_future(self._end_later())
        else:
            await self._end()

    async def _end(self) -> None:
        if self._begins is not None:  # declared dead while it was leaving: it does not come back after its end
            self._begins.cancel()
            await asyncio.wait([self._begins])
        with contextlib.suppress(Exception):
            await self.keeper.run(end_worker(self.worker_id, state="stopped", because="stopped", suspect=False))
        await self.guard.leave("stopped", timeout=10.0)
        await self.keeper.close()

    async def _end_later(self) -> None:
        """An application goes on when its worker has stopped, and so do bodies that cannot be ended."""
        while any(lane.used for lane in self.lanes.values()):  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.1)
        await self._end()

    async def _quiet(self, seconds: float) -> bool:
        """True once no lane has anything left; polled, since a lane's end is rare and a few milliseconds do not matter."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not all(lane.idle for lane in self.lanes.values()):
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(0.02)
        return True

    def _stop_all(self, kind: str, reason: str) -> None:
        for lane in self.lanes.values():
            for run in list(lane.runs.values()):
                run.stop(kind, reason)

    # -- what the services tell it -------------------------------------------------------------------------------------

    def _seen(self, views: list[LaneView]) -> None:
        for view in views:
            lane = self.lanes.get(view.name)
            if lane is None:
                if not view.types:
                    continue
                lane = self.lanes[view.name] = Lane(self, view)
                lane.draining = self._state == "draining"
                lane.start()
            lane.seen(view)
        gone = set(self.lanes) - {view.name for view in views}
        for name in gone:
            if self.lanes[name].idle:
                task = asyncio.ensure_future(self.lanes.pop(name).stop())
                task.add_done_callback(lambda _: None)
            else:
                self.lanes[name].draining = True

    def _on_hint(self, lane: str) -> None:
        if lane == STOP:
            self.guard.beat_now()
        elif lane == SCHEDULES:
            self.guard.look_now()
        elif lane.startswith("@"):
            self._promote(lane[1:])
        elif lane.startswith(BEHIND):
            if lane[1:] in self.lanes:
                self.lanes[lane[1:]].rescan()
        elif lane.startswith("%"):
            self.permits.hint(lane[1:])
        elif lane.startswith("~"):
            self.app._share(lane[1:]).drop()
        elif lane in self.lanes:
            self.lanes[lane].hurry()
        elif self.lane_names is None or lane in self.lane_names:
            self.poller.wake()

    def _promote(self, session: str) -> None:
        """Somebody's transaction with a job of this session has committed."""
        task = asyncio.ensure_future(self.keeper.run(promote_sessions([session])))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _look_again(self) -> None:
        self.poller.wake()

    def _on_stop(self, words: dict[str, Any]) -> None:
        for lane in self.lanes.values():
            run = lane.runs.get(words["job_id"])
            if run is not None and run.held.attempt == words["attempt"]:
                run.stop(words["kind"], words["reason"] or "cancelled")

    def _on_fence(self, fenced: bool) -> None:
        """No beat got through for so long that others may soon take our jobs: none of them may run on."""
        self._fenced = fenced
        if not fenced:
            self.poller.wake()
            return
        logger.error("no heartbeat got through for %s s: this worker stops its jobs", self.settings.fence_after)
        for lane in self.lanes.values():
            for run in list(lane.runs.values()):
                run.fence()

    def retired(self, reason: str, worker_id: int) -> None:
        """Declared dead: every claim is somebody else's now. Begin again under a new number.

        A beat that was under way may say it of an older number (`worker_id`), or of one that we have ended ourselves."""
        if self._state == "stopped" or worker_id != self.worker_id:
            return
        if self._begins is None or self._begins.done():
            self._begins = asyncio.ensure_future(self._begin_again(reason))

    async def _begin_again(self, reason: str) -> None:
        logger.error("worker %s was declared dead (%s); it stops its jobs and begins again", self.worker_id, reason)
        self._stop_all("lost", "its worker was declared dead")
        while True:
            try:
                self.guard.open.clear()
                await self._enter()
                break
            except Exception as error:
                logger.warning("cannot enter again yet: %s", error)
                await asyncio.sleep(1.0)
        self.permits.retired(self.worker_id)
        for lane in self.lanes.values():
            lane.restart()

    def _claim_lost(self, held: Held) -> None:
        for lane in self.lanes.values():
            run = lane.runs.get(held.id)
            if run is not None and run.held == held:
                run.stop("lost", "its claim was taken by another worker")

    # -- what a lane asks ----------------------------------------------------------------------------------------------

    @property
    def classifiers(self) -> Sequence[Classifier]:
        return self.app.classifiers

    @property
    def fenced(self) -> bool:
        """No beat gets through: none of its jobs may run."""
        return self._fenced

    def plain_settings(self) -> dict[str, Any]:
        """For a child process, over its pipe."""
        return {name: value for name, value in asdict(self.settings).items() if name != "origin"}

    def next_call(self) -> int:
        self._calls += 1
        return self._calls

    def open_claim(self) -> int:
        return self.guard.open_claim()

    def close_claim(self, no: int) -> None:
        self.guard.close_claim(no)

    def told(self) -> None:
        """There are new events: of a claim, of a finish, of what a job has said."""
        if self.settings.notify:
            self.teller.told()

    def due_in(self, seconds: float) -> None:
        self.poller.due_in(seconds)

    def handler(self, type_id: int) -> Handler:
        return self._types[type_id]

    def versions(self) -> dict[int, int]:
        return self._versions

    def capacity(self, lane: Lane) -> int:
        """Jobs this process may run in the lane: its slots, and the process's own limits. Every other lane keeps at least one
        place of each limit, so that a full lane cannot shut another one out."""
        if self._fenced or self._state != "running":
            return 0
        most = [slots for slots in (lane.view.worker_slots, lane.view.max_slots) if slots is not None]
        most.append(self._share(self.settings.max_jobs, lane, [other for other in self.lanes.values() if other is not lane]))
        for executor, limit in (("thread", self.settings.max_threads), ("process", self.settings.max_children)):
            if self._uses(lane, executor):
                others = [other for other in self.lanes.values() if other is not lane and self._uses(other, executor)]
                most.append(self._share(limit, lane, others))
        return min(most)

    @staticmethod
    def _share(limit: int, lane: Lane, others: list[Lane]) -> int:
        return max(limit - sum(max(other.used, 1) for other in others), 1)

    def _uses(self, lane: Lane, executor: str) -> bool:
        return any(self._types[type_id].executor == executor for type_id in lane.view.types if type_id in self._types)

    def executor(self, lane: Lane, handler: Handler, suspect: bool) -> Executor | None:
        """Where a job runs. A suspect runs alone in a child process, wherever its type belongs."""
        kind = "process" if suspect and self.app._target is not None else handler.executor
        if kind == "async":
            return None
        key = (lane.name, kind)
        if key not in self._pools:
            self._pools[key] = self._make_pool(lane, kind)
        return self._pools[key]

    @staticmethod
    def boots(executor: Executor) -> bool:
        """Says itself, by `on_job`, when a body begins."""
        return isinstance(executor, ProcessPool)

    def _runs_in_child(self, lane: Lane, pid: int, job_id: int) -> None:
        self.guard.runs_job(pid, job_id)
        if job_id in lane.runs:
            lane.runs[job_id].begins()

    def _make_pool(self, lane: Lane, kind: str) -> Executor:
        if kind == "thread":
            return ThreadPool(self.settings.max_threads, name=lane.name)
        if kind in self.app.executors:
            return StartedFirst(self.app.executors[kind](lane.name))
        target = self.app._target
        if target is None:
            missing = ConfigError(
                "executor='process' needs an application that another process can import: "
                "assign it to a name at the top level of a module or script"
            )
            missing.error_class = "permanent"  # type: ignore[attr-defined]
            return Unavailable(missing)
        return ProcessPool(
            target, size=self.settings.max_children, recycle_after=self.settings.child_jobs, name=lane.name,
            nice=self.settings.child_nice, on_spawn=self.guard.child_started, on_exit=self.guard.child_gone,
            on_job=lambda pid, job_id: self._runs_in_child(lane, pid, job_id), on_secrets=self.app.secrets.add,
        )  # fmt: skip

    # -- how it is doing -----------------------------------------------------------------------------------------------

    def health(self) -> dict[str, Any]:
        services: list[Health] = [service.health for service in (*self._services, *self.lanes.values())]
        return {
            "worker": self.worker_id,
            "state": "fenced" if self._fenced else self._state,
            "listening": self.settings.notify and self._state == "running" and self.listener.listening,
            "services": [
                {"name": one.name, "state": one.state, "restarts": one.restarts, "error": one.last_error} for one in services
            ],
            "hooks": None if self.hooks is None else self.hooks.health(),
            "lanes": {lane.name: {"used": lane.used, "capacity": self.capacity(lane)} for lane in self.lanes.values()},
        }
