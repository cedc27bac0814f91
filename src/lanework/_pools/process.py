"""Jobs in warm child processes, one at a time each. For one lane of one worker."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from lanework._child.backoff import Backoff
from lanework._child.death import OutOfMemory, resident_bytes
from lanework._child.process import Child
from lanework._child.spawner import spawner
from lanework._loading import Target, in_child
from lanework._pools.base import Call
from lanework.errors import ConfigError

#: Seconds of a cancel: until SIGTERM, and from there until SIGKILL.
GRACE = (3.0, 3.0)
#: A child that died sooner than this is not replaced until a job needs one: it would only die again.
_YOUNG_S = 5.0

_log = logging.getLogger("lanework.child")

OnProcess = Callable[[int], None]


class ProcessPool:
    """`Executor` over child processes that have loaded the application.

    size            children at most; they are started when jobs need them, the first one by `start`
    recycle_after   jobs after which a child is replaced
    recycle_rss     bytes of memory at the end of a job above which it is replaced; None: never
    on_spawn        called with the pid before the child runs any code of the application, so that a guard can end it
    on_exit         called with the pid when nothing of its group is left
    on_job          called with the pid and the job's id before the job is sent there
    on_secrets      called with texts that the application has registered in a child, before the child says them
    grace           seconds between asking and SIGTERM, and between SIGTERM and SIGKILL
    nice            niceness of the children
    start_timeout   seconds for import and start hooks
    stop_timeout    seconds for stop hooks
    """

    def __init__(
        self,
        target: Target,
        *,
        size: int,
        recycle_after: int = 100,
        recycle_rss: int | None = None,
        on_spawn: OnProcess | None = None,
        on_exit: OnProcess | None = None,
        on_job: Callable[[int, int], None] | None = None,
        on_secrets: Callable[..., None] | None = None,
        grace: tuple[float, float] = GRACE,
        name: str = "default",
        nice: int = 0,
        start_timeout: float = 300.0,
        stop_timeout: float = 5.0,
    ) -> None:
        self._target = target
        self._size = size
        self._recycle_after = recycle_after
        self._recycle_rss = recycle_rss
        self._on_spawn = on_spawn or _ignore
        self._on_exit = on_exit or _ignore
        self._on_job = on_job or _ignore
        self._on_secrets = on_secrets or _ignore
        self._grace = grace
        self._name = name
        self._nice = nice
        self._start_timeout = start_timeout
        self._stop_timeout = stop_timeout
        self._oom = OutOfMemory()
        self._backoff = Backoff()
        self._children: set[Child] = set()
        self._idle: list[Child] = []
        self._waiting: deque[asyncio.Future[Child]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._places = 0  # processes, from the order to start one until nothing of it is left
        self._booting = 0  # of these, the ones that take no jobs yet
        self._running = 0
        self._stopping = False

    @property
    def free(self) -> int:
        return self._size - self._running

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self._children]

    @property
    def failure(self) -> str | None:
        """Why no child can be started at present; for health."""
        return self._backoff.failure

    async def start(self) -> None:
        if in_child():
            raise ConfigError(
                "a worker is started while a child process imports the application: "
                "put the start under `if __name__ == '__main__':`"
            )
        self._grow(1)

    async def run(self, call: Call) -> Any:
        child = await self._take()
        self._running += 1
        self._on_job(child.pid, call.job_id)
        try:
            return await child.run(call, self._grace)
        finally:
            self._running -= 1
            self._give_back(child)

    async def stop(self) -> None:
        """Ends all children; jobs that still run there die with `ProcessDied`."""
        self._stopping = True
        for child in self._children - set(self._idle):
            child.kill("the worker stopped")
        idle, self._idle = self._idle, []
        for child in idle:
            self._do(child.stop(self._stop_timeout))
        self._fail_waiting("the worker stopped")
        while self._tasks or self._children:
            await asyncio.gather(*self._tasks, *(child.gone() for child in self._children))

    async def _take(self) -> Child:
        while self._idle:
            # The last one that worked: its memory is warm, and the others may be let go.
            child = self._idle.pop()
            if child.alive:
                return child
        waiter: asyncio.Future[Child] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._grow(sum(not each.done() for each in self._waiting))
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._give_back(waiter.result())
            raise

    def _grow(self, wanted: int) -> None:
        """Starts what is missing for `wanted` jobs, within the size."""
        if self._stopping or self._backoff.holds():
            self._fail_waiting(self._backoff.failure or "the worker stopped")
            return
        for _ in range(min(self._size - self._places, wanted - self._booting)):
            self._places += 1
            self._booting += 1
            self._do(self._start_one())

    async def _start_one(self) -> None:
        try:
            self._give_back(await self._boot())
            self._backoff.worked()
        except (ConfigError, OSError) as error:
            self._failed(f"no child process for {self._target}: {error}")
        finally:
            self._booting -= 1

    async def _boot(self) -> Child:
        try:
            started = await spawner.spawn(self._name)
        except OSError:
            self._places -= 1
            raise
        child = Child(started, oom=self._oom, on_gone=self._gone, on_secrets=self._on_secrets)
        self._children.add(child)
        self._on_spawn(child.pid)
        if self._stopping:
            child.kill("the worker stopped")
        try:
            await child.boot(self._target, timeout=self._start_timeout, nice=self._nice)
        except ConfigError:
            # Its place must be free before the next job asks for one.
            child.kill("it could not start")
            await child.gone()
            raise
        return child

    def _failed(self, failure: str) -> None:
        if not self._stopping:
            _log.error("lane %s: %s", self._name, failure)
        self._backoff.failed(failure)
        self._fail_waiting(failure)

    def _fail_waiting(self, why: str) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(self._no_child(why))

    def _no_child(self, why: str) -> ConfigError:
        """No fault of the job that would have run there: it uses no try, and comes again when the next child is started."""
        error = ConfigError(why)
        error.error_class = "worker_lost"  # type: ignore[attr-defined]
        error.retry_after = self._backoff.left  # type: ignore[attr-defined]
        return error

    def _give_back(self, child: Child) -> None:
        if not child.alive:
            return  # its end frees the place
        if self._stopping or self._is_worn(child):
            self._do(child.stop(self._stop_timeout))
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(child)
                return
        self._idle.append(child)

    def _is_worn(self, child: Child) -> bool:
        if child.jobs == 0:
            return False  # an application larger than `recycle_rss` must still run one job per child
        if child.jobs >= self._recycle_after:
            return True
        return self._recycle_rss is not None and resident_bytes(child.pid) > self._recycle_rss

    def _gone(self, child: Child) -> None:
        """The place is free only now: two children in it would need the memory of two."""
        self._children.discard(child)
        self._places -= 1
        if child in self._idle:
            self._idle.remove(child)
        self._on_exit(child.pid)
        if child.ready and not self._stopping:
            replace = child.jobs > 0 or child.age > _YOUNG_S
            self._grow(max(int(replace), len(self._waiting)))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        # In a context of its own: what a child says between jobs must not go to the log of the job that it was started for.
        task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _ignore(*told: object) -> None:
    return None
