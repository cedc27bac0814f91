"""Runs the hooks of jobs aside: in a thread of their own, from a queue that never makes anybody wait."""

from __future__ import annotations

import asyncio
import inspect
import logging
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanework.errors import LaneworkError
from lanework.events import Event, pages, position
from lanework.hooks import ELSEWHERE, HookEvent, Hooks, Kind

if TYPE_CHECKING:
    from lanework._services.run import Run
    from lanework.client import Lanework

logger = logging.getLogger("lanework")

#: Events that wait for their hooks. Beyond them they are dropped, and counted.
MOST = 10_000
#: An async hook is given up after this long; a sync one cannot be.
LIMIT_S = 30.0
LEAVE_S = 5.0


class HookRunner:
    """A hook that fails is logged, one that is slow delays other hooks: neither touches a job or a lane."""

    def __init__(self, app: Lanework, most: int = MOST) -> None:
        self._app, self._hooks = app, app.hooks
        self._queue: queue.Queue[HookEvent | None] = queue.Queue(most)
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self.dropped = 0
        self.failed = 0

    @classmethod
    def wanted(cls, hooks: Hooks) -> bool:
        return bool(hooks.of)

    def start(self) -> None:
        work: list[Callable[[], None]] = [self._run]
        if any(kind in self._hooks.of for kind in ELSEWHERE):
            work.append(self._watch)
        for target in work:
            thread = threading.Thread(target=target, name="lanework-hooks", daemon=True)
            thread.start()
            self._threads.append(thread)

    async def stop(self) -> None:
        """What happened before is told, if the hooks are quick enough."""
        self._stopping.set()
        self.put(None)
        await asyncio.to_thread(self._threads[0].join, LEAVE_S)

    def health(self) -> dict[str, int]:
        return {"waiting": self._queue.qsize(), "dropped": self.dropped, "failed": self.failed}

    # -- what happened

    def job(self, kind: Kind, run: Run, *, outcome: str, error_class: str | None = None, error: str | None = None) -> None:
        if kind in self._hooks.of:
            row = run.row
            self.put(
                HookEvent(kind, row.id, run.handler.name, run.lane.name, row.attempt, run.duration, outcome, error_class, error)
            )

    def put(self, event: HookEvent | None) -> None:
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self.dropped += 1
            if self.dropped == 1:
                logger.warning("hooks are slower than what happens: events for them are dropped (see health)")

    # -- the threads

    def _run(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            while not (self._stopping.is_set() and self._queue.empty()):
                event = self._queue.get()
                for function in self._hooks.of.get(event.kind, ()) if event else ():
                    self._call(loop, function, event)
        finally:
            loop.close()

    def _call(self, loop: asyncio.AbstractEventLoop, function: Callable[[HookEvent], Any], event: HookEvent | None) -> None:
        try:
            answer = function(event)  # type: ignore[arg-type]
            if inspect.isawaitable(answer):
                loop.run_until_complete(asyncio.wait_for(answer, LIMIT_S))
        except Exception:
            self.failed += 1
            logger.exception("a hook failed: %s", getattr(function, "__qualname__", function))

    def _watch(self) -> None:
        """What happens elsewhere is read from the events, from now on."""
        cursor: str | None = None
        while not self._stopping.is_set():
            try:
                at = position(cursor, None, ["job", "maintenance"], self._kinds())
                for page in pages(self._app, at, follow=True):
                    for event in page.events:
                        cursor = event.cursor
                        self._tell(event)
                    if self._stopping.is_set():
                        return
                return
            except LaneworkError as error:
                logger.warning("hooks do not hear of other processes for a moment: %s", error)
                self._stopping.wait(1.0)

    def _kinds(self) -> list[str] | None:
        """Maintenance has many kinds."""
        return None if "maintenance" in self._hooks.of else ["recovered"]

    def _tell(self, event: Event) -> None:
        if event.topic == "maintenance":
            self.put(HookEvent("maintenance", outcome=str(event.data.get("outcome", event.kind)), data=event.data))
        elif event.kind == "recovered":
            for job_id in event.jobs:
                info = self._app.get(job_id)
                self.put(
                    HookEvent(
                        "recovered", job_id, info.type, info.lane, info.attempt, None, info.status,
                        event.data.get("error_class"), event.data.get("cause"),
                    )
                )  # fmt: skip
