"""The life of one child process, as its worker sees it: booted, given jobs, retired; or dead."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanework._child.channel import Channel
from lanework._child.death import OutOfMemory, Watch, cause_of, group_lives, has_ended, kill_group
from lanework._child.errand import Errand
from lanework._child.output import Output
from lanework.errors import ConfigError

if TYPE_CHECKING:
    from lanework._child.spawner import Started
    from lanework._loading import Target
    from lanework._pools.base import Call

#: How long a killed group may take to be gone; longer only where nobody reaps orphans.
_GROUP_S = 1.0
#: A channel that ends is usually the process ending; one that lives on without it is of no use.
_BROKEN_S = 0.5
#: How long questions of a dead child are still worked on when the pool stops.
_QUESTIONS_S = 2.0


class Child:
    def __init__(
        self, started: Started, *, oom: OutOfMemory, on_gone: Callable[[Child], None], on_secrets: Callable[..., None]
    ) -> None:
        self.pid = started.popen.pid
        self.jobs = 0
        self._popen = started.popen
        self._oom = oom
        self._on_gone = on_gone
        self._on_secrets = on_secrets
        self._loop = asyncio.get_running_loop()
        self._born = self._loop.time()
        self._verdict: str | None = None
        self._errand: Errand | None = None
        self._output = Output(self._loop, started.output, pid=self.pid)
        self._stale: list[Output] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._channel = Channel(self._loop, started.sock, on_message=self._hear, on_broken=self._broken)
        self._watch = Watch(self._loop, self.pid, self._died)

    async def boot(self, target: Target, *, timeout: float, nice: int = 0) -> None:
        """Returns when it takes jobs; raises `ConfigError` with the child's traceback if it never will."""
        self.send("boot", {"parent": os.getpid(), "target": target.to_json(), "nice": nice})
        late = self._loop.call_later(timeout, self.kill, f"it was not ready after {timeout:g} s")
        try:
            await self._ready
        finally:
            late.cancel()

    @property
    def ready(self) -> bool:
        """Whether it ever took jobs."""
        return self._ready.done() and self._ready.exception() is None

    @property
    def age(self) -> float:
        return self._loop.time() - self._born

    @property
    def alive(self) -> bool:
        return not self._gone.done() and self._verdict is None and not has_ended(self.pid)

    async def run(self, call: Call, grace: tuple[float, float]) -> Any:
        assert self._errand is None
        self.jobs += 1
        self._errand = errand = Errand(self, call, self.jobs)
        self._output.begin(errand.sink)
        try:
            return await errand.run(grace)
        finally:
            self._errand = None

    async def stop(self, timeout: float) -> None:
        """Between jobs: lets it run its stop hooks, and ends it after `timeout` in any case."""
        self.send("stop")
        late = self._loop.call_later(timeout, self.kill, "stopped")
        await asyncio.wait([self._gone])
        late.cancel()

    def kill(self, verdict: str) -> None:
        """Ends the whole group; `verdict` is what its death will be called."""
        if not self._gone.done() and self._popen.returncode is None:
            self._verdict = self._verdict or verdict
            kill_group(self.pid)

    async def gone(self) -> None:
        await asyncio.wait([self._gone])
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_QUESTIONS_S)
            for task in late:
                task.cancel()

    def send(self, *parts: Any) -> None:
        if not self._gone.done():
            self._channel.send(*parts)

    def keep(self, task: asyncio.Task[None]) -> None:
        """A question of the job that is being answered; it may end after its job."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drain_output(self) -> None:
        self._output.drain()

    def _hear(self, message: list[Any]) -> None:
        match message[0]:
            case "ready":
                self._ready.set_result(None)
            case "failed":
                self._refuse(message[1])
            case "secrets":
                self._on_secrets(*message[2])
                self.send("known", message[1])
            case "done":
                self._output.end()
                self._renew_output()
        if self._errand is not None:
            self._errand.hear(message)

    def _renew_output(self) -> None:
        """New pipes, if the message brought some. A process that the job left behind may go on writing to the old ones:
        they are read until it ends, as nobody's."""
        if fds := self._channel.take_fds():
            self._stale.append(self._output)
            self._output = Output(self._loop, fds, pid=self.pid)

    def _refuse(self, why: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(ConfigError(why))

    def _broken(self, why: str) -> None:
        self._loop.call_later(_BROKEN_S, self.kill, why)

    def _died(self) -> None:
        self._channel.drain()
        # Not reaped yet, so the number is still this group's.
        kill_group(self.pid)
        self._popen.wait()
        self._channel.close()
        self._wait_for_group(self._loop.time() + _GROUP_S)

    def _wait_for_group(self, deadline: float) -> None:
        if group_lives(self.pid) and self._loop.time() < deadline:
            self._loop.call_later(0.005, self._wait_for_group, deadline)
        else:
            self._end()

    def _end(self) -> None:
        self._output.end()
        for output in (self._output, *self._stale):
            output.close()
        cause = self._verdict or self._cause()
        self._refuse(f"the process died before it was ready: {cause}\n{self._output.last_words}".strip())
        self._gone.set_result(None)
        if self._errand is not None:
            self._errand.died(cause)
        self._on_gone(self)

    def _cause(self) -> str:
        code = self._popen.returncode
        return cause_of(code, out_of_memory=code == -9 and self._oom.happened())
