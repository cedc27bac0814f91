"""Where a child takes its jobs: one at a time, in the main thread, while another thread listens to the worker."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType
from typing import Any

from lanework._capture import JobLogHandler, Sink
from lanework._child import answers, guards
from lanework._child.link import ChildLink, Stderr, Wire
from lanework._child.stdio import Stdio, left_processes
from lanework._child.wire import Raw
from lanework._loading import Target
from lanework._pools._body import Body
from lanework.context import Context

#: The worker answers at once; if it cannot, a handler does not wait for it for ever.
_SHARED_S = 5.0


class Cancelled(BaseException):
    """Raised in the body by SIGTERM, once the worker has announced it. No `Exception`: it passes `except Exception`."""


class Job:
    """One run. Everything here is touched by the listening thread too, except `run`."""

    def __init__(self, number: int, told: dict[str, Any], wire: Wire) -> None:
        self.number = number
        self.link = ChildLink(wire, number)
        self.context = Context(self.link, **told["context"])
        self.told = told
        self.announced = False
        self.interruptible = False
        self._lock = threading.Lock()
        self._body: Body | None = None

    def cancel(self, reason: str, lost: bool) -> None:
        self.context._stop(reason, lost=lost)
        with self._lock:
            self.announced = True
            if self._body is not None:
                self._body.cancel()

    def run(self, handler: Any, runner: asyncio.Runner) -> Any:
        body = Body(handler, self.context, self.told["payload"], self.told["version"])
        with self._lock:
            if self.announced:
                raise Cancelled(self.context._cancel_reason)
            self._body = body
        # Cleared inside the caller's `try`: a SIGTERM in between is caught there, one that comes later does nothing.
        self.interruptible = True
        try:
            return body.run(runner)
        finally:
            self.interruptible = False


class Desk:
    def __init__(self, wire: Wire, stdio: Stdio, target: Target, app: Any) -> None:
        self._wire = wire
        self._stdio = stdio
        self._target = target
        self._app = app
        self._runner = asyncio.Runner()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._job: Job | None = None
        self._serving = False
        self._numbers = itertools.count()
        self._shared: dict[int, threading.Event] = {}

    def start(self) -> None:
        """What can fail before a job may come: the application's own hooks."""
        if (secrets := getattr(self._app, "secrets", None)) is not None:
            secrets.share(self._share)
        run_hooks(self._app, "child_start", self._runner)
        _log_into(self._sink)

    def serve(self) -> None:
        """Until the worker says stop."""
        self._wire.send("ready")
        threading.Thread(target=self._listen, name="lanework-channel", daemon=True).start()
        self._serving = True
        while (job := self._jobs.get()) is not None:
            self._take(job)
        run_hooks(self._app, "child_stop", self._runner)
        self._runner.close()

    def _share(self, texts: list[str]) -> None:
        """The worker masks what it stores. It must know a secret before anything is said that has it; what is printed goes another
        way than messages do, so this waits for its answer."""
        if not texts or not self._wire.ours:
            return
        number = next(self._numbers)
        known = self._shared[number] = threading.Event()
        self._wire.send("secrets", number, texts)
        if self._serving:
            known.wait(_SHARED_S)

    def _take(self, job: Job) -> None:
        guards.take_signals(self._on_term)
        threads = _threads()
        answer = self._answer(job)
        self._stdio.flush()
        job.link.close()
        self._job = None
        left = left_processes()
        clean = not left and _threads() <= threads
        if left:
            self._send_with_stdio("done", job.number, clean, answer)
        else:
            self._wire.send("done", job.number, clean, answer)

    def _answer(self, job: Job) -> Raw:
        try:
            handler = self._target.handler(self._app, job.told["type"], job.told["home"])
            return answers.give(job.run(handler, self._runner))
        except BaseException as error:
            return answers.give_error(error, skip=3)

    def _send_with_stdio(self, *message: Any) -> None:
        reading = self._stdio.renew()
        self._wire.send(*message, fds=reading)
        for fd in reading:
            os.close(fd)

    def _listen(self) -> None:
        while True:
            for message in self._wire.receive():
                self._hear(message)

    def _hear(self, message: list[Any]) -> None:
        match message:
            case ["run", number, told]:
                # Made here, so that a cancel that follows at once finds it.
                self._job = Job(number, told, self._wire)
                self._jobs.put(self._job)
            case ["cancel", number, reason, lost]:
                if self._job is not None and self._job.number == number:
                    self._job.cancel(reason, lost)
            case ["answer", number, asked, ok, value]:
                if self._job is not None and self._job.number == number:
                    self._job.link.answer(asked, ok, value)
            case ["known", number]:
                self._shared[number].set()
            case ["stop"]:
                self._jobs.put(None)

    def _on_term(self, signum: int, frame: FrameType | None) -> None:
        job = self._job
        if job is not None and job.announced and job.interruptible and self._wire.ours:
            raise Cancelled(job.context._cancel_reason)

    def _sink(self) -> Sink | None:
        if not self._wire.ours:
            return Sink(Stderr())
        return self._job.link.sink if self._job is not None else None


def _threads() -> set[int | None]:
    return {each.ident for each in threading.enumerate() if not each.name.startswith("lanework-")}


def run_hooks(app: Any, name: str, runner: asyncio.Runner) -> None:
    """`app.hooks.child_start` and `child_stop`: functions without arguments, sync or async."""
    for hook in getattr(getattr(app, "hooks", None), name, ()):
        made = hook()
        if asyncio.iscoroutine(made):
            runner.run(made)


def _log_into(sink: Callable[[], Sink | None]) -> None:
    """Records of the job go to its log with their level. A console handler of the application would write them a second
    time, as stderr: it is left what is logged between jobs."""
    root = logging.getLogger()
    configured = list(root.handlers)
    for handler in configured:
        if type(handler) is logging.StreamHandler:
            handler.addFilter(lambda record: sink() is None)
    if not configured and root.level == logging.WARNING:
        root.setLevel(logging.INFO)
    root.addHandler(JobLogHandler(sink))
