"""Real processes on a real database: start them, stop them, kill them, and wait for what they leave behind.

Site      one test's database, folder and processes
Process   one `lanework worker`: the supervisor (guard), and under it the worker proper
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from lanework import Lanework
from lanework._guard.processes import children_of, is_gone
from tests.pace import stretch
from tests.processes import jobs
from tests.sql.engine import Engine

ROOT = Path(__file__).parents[2]
FOLDER = "LANEWORK_TEST_FOLDER"
#: The scale of `promises.md` for tests: expiry 3 s, beats 0.5 s, polls 0.25 s.
SCALE = {
    "LANEWORK_EXPIRY": "3", "LANEWORK_FENCE_AFTER": "2", "LANEWORK_BEAT": "0.5", "LANEWORK_IDLE_BEAT": "0.5",
    "LANEWORK_SWEEP": "0.5", "LANEWORK_GRACE": "5", "LANEWORK_MAX_CHILDREN": "16", "LANEWORK_ALLOW_UNSAFE": "1",
}  # fmt: skip
FINAL = ("completed", "failed", "cancelled")
T = TypeVar("T")


class Late(AssertionError):
    """What a test waited for did not happen."""


class Note(NamedTuple):
    """What a body did, in its own words."""

    job: int
    attempt: int
    pid: int
    at: float
    word: str


class Process:
    """`popen` is the guard, or the application that a companion guards."""

    def __init__(self, site: Site, name: str, popen: subprocess.Popen[bytes]) -> None:
        self._site, self.name, self.popen = site, name, popen

    @property
    def row(self) -> dict[str, Any] | None:
        found = self._site.sql.rows("select * from lanework.workers where name = %s order by id desc limit 1", self.name)
        return found[0] if found else None

    @property
    def id(self) -> int:
        return int(self._need["id"])

    @property
    def pid(self) -> int:
        """Of the worker proper."""
        return int(self._need["pid"])

    @property
    def companion(self) -> int:
        found = [pid for pid in children_of(self.popen.pid) if b"lanework._guard" in _read(f"/proc/{pid}/cmdline")]
        return found[0] if found else 0

    @property
    def _need(self) -> dict[str, Any]:
        row = self.row
        assert row is not None, f"{self.name} has no row"
        return row

    def ready(self) -> bool:
        assert self.popen.poll() is None, f"{self.name} ended with {self.popen.returncode}"
        row = self.row
        return row is not None and row["state"] == "active" and not is_gone(row["pid"])

    def kill_worker(self) -> None:
        kill(self.pid)

    def kill_guard(self) -> None:
        kill(self.popen.pid)

    def kill_tree(self) -> None:
        """Stopped first, so that nobody can act on the death of another: like a machine that loses its power."""
        tree = [self.popen.pid, *descendants(self.popen.pid)]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            kill(*tree, number=number)

    def wait(self, seconds: float = 60) -> int:
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Late(f"{self.name} did not end within {seconds} s") from None


class Site:
    def __init__(self, dsn: str, folder: Path, sql: Engine) -> None:
        self.dsn, self.folder, self.sql = dsn, folder, sql
        self.plant = ""
        self.patience = 1.0  # of what the tests would wait
        self.longest = math.inf  # seconds, however busy the machine is
        self.judged = True  # by the oracles, in the end
        self.client = jobs.declared(Lanework(dsn, notify=True, allow_unsafe=True))
        self.client.lanes.list()  # brings the lanes and types into the database
        self._processes: list[Process] = []

    # -- processes -----------------------------------------------------------------------------------------------------

    def start(self, name: str = "", *, lanes: Iterable[str] = (), wait: bool = True, **env: str) -> Process:
        """`lanework worker`; comes back when it is ready to claim. `plant=` names what is planted in this one alone."""
        chosen = ["--lanes", ",".join(lanes)] if lanes else []
        command = ["lanework", "worker", "tests.processes.jobs:app", *chosen, "--name"]
        return self._start(name, command, env, wait=wait)

    def start_inside(self, *, lane: str = "", **env: str) -> Process:
        """A worker in an application, with a companion."""
        return self._start("", ["tests.processes.inside"], env, wait=True, after=[lane] if lane else [])

    def start_many(self, count: int, **env: str) -> list[Process]:
        started = [self.start(wait=False, **env) for _ in range(count)]
        for one in started:
            self.until(one.ready, f"{one.name} to start", 60)
        return started

    def _start(self, name: str, command: list[str], env: dict[str, str], *, wait: bool, after: Iterable[str] = ()) -> Process:
        name = name or f"w{len(self._processes) + 1}"
        arguments = [sys.executable, "-m", *command, name, *after]
        with (self.folder / f"{name}.log").open("ab") as log:
            popen = subprocess.Popen(
                arguments, cwd=ROOT, env=self._environment(env), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        process = Process(self, name, popen)
        self._processes.append(process)
        if wait:
            self.until(process.ready, f"{name} to start", 60)
        return process

    def _environment(self, env: dict[str, str]) -> dict[str, str]:
        path = os.pathsep.join(str(ROOT / part) for part in ("tests/processes/early", "src", "."))
        plants = ",".join(filter(None, [self.plant, env.pop("plant", "")]))
        ours = {"LANEWORK_DSN": self.dsn, FOLDER: str(self.folder), "PYTHONPATH": path, "LANEWORK_TEST_PLANT": plants}
        return {**os.environ, **SCALE, **ours, **env}

    def close(self) -> None:
        """Ends whatever was started for this site, whosever child it has become."""
        mark = f"{FOLDER}={self.folder}".encode()
        while ours := [pid for pid in _pids() if mark in _read(f"/proc/{pid}/environ").split(b"\0") and not is_gone(pid)]:
            kill(*ours)
            time.sleep(0.01)
        for process in self._processes:
            process.popen.wait()
        self.client.close()

    def logs(self) -> str:
        return "\n".join(f"--- {file.name}\n{file.read_text()[-4000:]}" for file in sorted(self.folder.glob("*.log")))

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def submit(self, type: str, *, priority: int = 0, max_age: float | None = None, **payload: Any) -> int:
        return int(self.sql.one(
            "select lanework.enqueue(%s, %s, priority => %s, max_age => make_interval(secs => %s))",
            type, json.dumps(payload), priority, max_age,
        ))  # fmt: skip

    def lane(self, name: str, *types: str, **values: Any) -> None:
        """An operator's lane for these types."""
        self.client.lanes.create(name, **{"max_slots": None, "poll_interval_ms": 250, **values}, job_types=list(types))

    def open(self, gate: str) -> None:
        (self.folder / f"gate-{gate}").touch()

    @property
    def notes(self) -> list[Note]:
        file = self.folder / "notes"
        lines = file.read_text().splitlines() if file.exists() else []
        parts = [line.split(" ", 4) for line in lines]
        return [Note(int(job), int(attempt), int(pid), float(at), word) for job, attempt, pid, at, word in parts]

    def noted(self, job: int, word: str, attempt: int | None = None) -> list[Note]:
        return [one for one in self.notes if one.job == job and one.word == word and attempt in (None, one.attempt)]

    def began(self, job: int, attempt: int | None = None, seconds: float = 60) -> Note:
        """The body runs: waits for its first words."""
        self.until(lambda: self.noted(job, "start", attempt), f"job {job} (attempt {attempt}) to start", seconds)
        return self.noted(job, "start", attempt)[-1]

    def ended(self, *ids: int, seconds: float = 60) -> list[Any]:
        """The jobs as they are once all have come to rest."""
        left = "select count(*) from lanework.jobs where id = any (%s)"
        self.until(lambda: not self.sql.one(left, list(ids)), f"{len(ids)} jobs to end", seconds)
        return [self.client.get(id) for id in ids]

    def completed(self, *ids: int, seconds: float = 60) -> list[Any]:
        ended = self.ended(*ids, seconds=seconds)
        others = [f"{one.id} {one.type} {one.status} {one.error_class}: {one.error}" for one in ended if one.status != "completed"]
        assert not others, "\n".join([*others, self.explain()])
        return ended

    def status(self, job: int) -> str:
        return str(self.client.get(job).status)

    # -- waiting -------------------------------------------------------------------------------------------------------

    def until(self, condition: Callable[[], T], what: str, seconds: float = 60) -> float:
        """Seconds that it took. Fails with what the processes said when it takes too long."""
        begun = time.monotonic()
        while not condition():
            if time.monotonic() - begun > min(seconds * self.patience * stretch(), self.longest):
                raise Late(f"waited {seconds} s for {what}\n{self.explain()}")
            time.sleep(0.02)
        return time.monotonic() - begun

    def beats_past_expiry(self, worker: int, expiry: float = 3.0) -> None:
        """Waits until a beat has come so late after now that without beats it would be dead."""
        now = self.sql.one("select lanework.now()")
        beaten = "select state = 'active' and seen_at > %s + make_interval(secs => %s) from lanework.workers where id = %s"
        self.until(lambda: self.sql.one(beaten, now, expiry + 1, worker), f"beats of worker {worker} past its expiry", 20 * expiry)

    def explain(self) -> str:
        live = self.sql.rows("select id, type_id, status, attempt, worker_id, run_at from lanework.jobs order by id limit 10")
        workers = self.sql.rows("select id, name, pid, state, ended_because from lanework.workers order by id")
        tried = self.sql.rows("select job_id, attempt, worker_id, outcome, error_class, cause from lanework.attempts limit 20")
        return "\n".join([*map(str, live), *map(str, tried), *map(str, workers), self.logs()])


def expiring(seconds: float) -> dict[str, Any]:
    """For a process that may be silent for so long."""
    return {"LANEWORK_EXPIRY": f"{seconds:.3f}", "LANEWORK_FENCE_AFTER": f"{seconds * 2 / 3:.3f}"}


def kill(*pids: int, number: int = signal.SIGKILL) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def descendants(pid: int) -> list[int]:
    found = children_of(pid)
    return [*found, *(below for child in found for below in descendants(child))]


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and int(entry.name) != os.getpid()]


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError:
        return b""
