"""A database with one worker in this process, shared by the tests of a package; and sites with workers of their own, to kill."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lanework import Handle, JobInfo, Lanework, _capture
from tests.inside import app as code
from tests.pace import stretch
from tests.processes.harness import Late, Note, Process, Site
from tests.sql.engine import Engine

LEDGER = "create table ledger (n bigint generated always as identity, job bigint not null, what text not null)"


class Reads:
    """What the jobs of the application left behind."""

    folder: Path
    sql: Engine
    patience = 1.0  # of what the tests would wait

    @property
    def notes(self) -> list[Note]:
        file = self.folder / "notes"
        lines = file.read_text().splitlines() if file.exists() else []
        parts = [line.split(" ", 4) for line in lines]
        return [Note(int(job), int(attempt), int(pid), float(at), word) for job, attempt, pid, at, word in parts]

    def words(self, job: int, start: str = "", attempt: int | None = None) -> list[str]:
        """What the job said, without the word it began with."""
        mine = [one for one in self.notes if one.job == job and attempt in (None, one.attempt)]
        return [one.word.removeprefix(start).strip() for one in mine if one.word.startswith(start)]

    def ledger(self, job: int) -> list[str]:
        return [row["what"] for row in self.sql.rows("select what from ledger where job = %s order by n", job)]

    def open(self, gate: str) -> None:
        (self.folder / f"gate-{gate}").touch()

    def until(self, condition: Callable[[], Any], what: str, seconds: float = 60) -> float:
        begun = time.monotonic()
        while not condition():
            if time.monotonic() - begun > seconds * self.patience * stretch():
                live = self.sql.rows("select id, type_id, status, attempt, blocked_on, session, parent from lanework.jobs limit 20")
                raise Late("\n".join([f"waited {seconds} s for {what}", *map(str, live), *map(str, self.notes[-20:])]))
            time.sleep(0.01)
        return time.monotonic() - begun

    def said(self, job: int, word: str, attempt: int | None = None) -> None:
        self.until(lambda: word in self.words(job, attempt=attempt), f"job {job} to say {word!r}")


class House(Reads):
    """Its worker sweeps once in ten minutes: nothing here may depend on a sweep unless it asks for one."""

    def __init__(self, dsn: str, folder: Path, sql: Engine) -> None:
        self.folder, self.sql = folder, sql
        self.app = code.app
        self._before = code.app.settings
        code.app.settings = code.app.settings.changed(
            dsn=dsn, beat=0.3, idle_beat=0.3, sweep=600.0, max_children=3, max_threads=64, connections=20, log_lines=500
        )
        sql.db.execute(LEDGER)
        self._ready, self._leave = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), daemon=True)
        self._thread.start()
        assert self._ready.wait(60), "the worker did not start"

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with self.app, self.app.worker() as self.worker:
            self._ready.set()
            await self._leave.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join(60)
        self.app.settings = self._before

    def submit(self, name: str, *args: Any, **arguments: Any) -> Handle[Any]:
        _capture._installation.wrap()  # pytest has replaced the streams since the worker started
        handle: Handle[Any] = code.app_job(name).submit(*args, **arguments)
        return handle

    def run(self, name: str, *args: Any, **arguments: Any) -> JobInfo:
        """The job, when it has ended."""
        return self.end(self.submit(name, *args, **arguments))

    def end(self, handle: Handle[Any], seconds: float = 60) -> JobInfo:
        return handle.wait(seconds * self.patience * stretch())

    def job(self, name: str) -> Any:
        return code.app_job(name)

    def status(self, handle: Handle[Any] | int) -> str:
        return self.app.get(getattr(handle, "id", handle)).status  # type: ignore[arg-type]

    def is_now(self, handle: Handle[Any] | int, status: str) -> None:
        self.until(lambda: self.status(handle) == status, f"job {handle} to be {status}")

    def supersede(self, job: int) -> None:
        """As if its worker had been declared dead: somebody else gets the job while the old body still runs."""
        back = (
            "update lanework.jobs set status = 'approved', claim_id = null, worker_id = null where id = %s and status = 'running'"
        )
        assert self.sql.db.execute(back, (job,)).rowcount == 1
        self.until(lambda: self.app.get(job).attempt == 2, f"the second attempt of job {job}")

    def sweep(self) -> None:
        self.sql.rows("select * from lanework.sweep()")


class Inside(Reads, Site):
    """A site whose workers run the application of these tests."""

    def __init__(self, dsn: str, folder: Path, sql: Engine) -> None:
        Site.__init__(self, dsn, folder, sql)
        self.client.close()
        self.client = Lanework(dsn, allow_unsafe=True)
        self.client._lane_values.update(code.app._lane_values)
        for handler in code.app.handlers.values():
            self.client.handlers.add(handler)
        self.client.lanes.list()  # brings the lanes and types into the database
        sql.db.execute(LEDGER)

    def start(self, name: str = "", *, lanes: Iterable[str] = (), wait: bool = True, **env: str) -> Process:
        chosen = ["--lanes", ",".join(lanes)] if lanes else []
        return self._start(name, ["lanework", "worker", "tests.inside.app:app", *chosen, "--name"], env, wait=wait)

    def until(self, condition: Callable[[], Any], what: str, seconds: float = 60) -> float:
        return Site.until(self, condition, what, seconds)

    def job(self, name: str) -> Any:
        from lanework.job import Job

        return Job(self.client, self.client.handlers[name])
