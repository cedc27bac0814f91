"""The process pool, with real processes that crash, hang, hog and fork."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from lanework import _capture
from lanework._child import backoff, errand
from lanework._child.death import end_group
from lanework._child.output import Output
from lanework._child.spawner import Spawner
from lanework._loading import Target
from lanework._pools.base import Call
from lanework._pools.process import ProcessPool
from lanework._pools.remote import RemoteError
from lanework.context import Context
from lanework.errors import ClaimLost, ConfigError, InvalidResult, ProcessDied
from lanework.outcomes import Cancel, Done, Fail, Snooze
from tests.pace import bound

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

HERE = Path(__file__).parent
APP = HERE / "process_pool_app.py"
GRACE = (0.3, 0.3)
# The machine may be busy: what must not be reached is far away, rather than just behind.
LONG = 20.0
ASK = (LONG, LONG)
TERM = (0.3, LONG)


class FakeLink:
    """The worker's side of a context: keeps what it is told, wakes who waits for it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self._news = asyncio.Event()

    def tell(self, op: str, data: dict[str, Any]) -> None:
        self.told.append((op, data))
        self._news.set()

    def ask(self, op: str, data: dict[str, Any]) -> Any:
        raise AssertionError("the worker's loop must not block")

    async def aask(self, op: str, data: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        if op == "lost":
            raise ClaimLost("superseded")
        if op == "broken":
            raise RuntimeError("out of order")
        return data.get("state")

    def log(self, *streams: str) -> list[str]:
        """The lines of some streams, or of all."""
        entries = [data for op, data in self.told if op == "log" and (not streams or data["stream"] in streams)]
        return [line for entry in entries for line in entry["text"].split("\n")]

    async def until(self, line: str) -> None:
        async with asyncio.timeout(60):
            while not any(each.startswith(line) for each in self.log()):
                self._news.clear()
                await self._news.wait()

    def database(self) -> Any:
        raise NotImplementedError

    async def adatabase(self) -> Any:
        raise NotImplementedError


class FakeHandler:
    def __init__(self, name: str, memory_limit: int | None, home: str) -> None:
        self.name = name
        self.memory_limit = memory_limit
        self.fn = _nothing if not home else _with_home(home)


def _nothing() -> None:
    raise AssertionError("the body must run in the child")


_nothing.__module__ = ""


def _with_home(home: str) -> Callable[[], None]:
    def nothing() -> None:
        raise AssertionError("the body must run in the child")

    nothing.__module__ = home
    return nothing


class Run:
    """One job given to a pool."""

    def __init__(self, pool: ProcessPool, name: str, memory_limit: int | None, home: str, payload: Any) -> None:
        self.link = FakeLink()
        self.context = Context(self.link, job_id=7, attempt=2, fence=9, type=name, lane="lane", owner="me", saved={"page": 3})
        handler: Any = FakeHandler(name, memory_limit, home)
        self.task = asyncio.ensure_future(pool.run(Call(handler, self.context, payload, 1, 7, 2, str(uuid4()), 9)))

    async def cancel(self, reason: str = "cancelled by a test") -> float:
        """Seconds until the body had ended."""
        began = time.monotonic()
        self.context._cancel_reason = reason
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task
        return time.monotonic() - began


class Pool:
    def __init__(self, target: Target, **options: Any) -> None:
        self.spawned: list[int] = []
        self.exited: list[int] = []
        self._exit = asyncio.Event()
        options = {"size": 1, "grace": GRACE, "name": "tested", **options}
        self.sent: list[tuple[int, int]] = []
        self.pool = ProcessPool(
            target,
            on_spawn=self.spawned.append,
            on_exit=self._on_exit,
            on_job=lambda *told: self.sent.append(told),
            **options,
        )

    def _on_exit(self, pid: int) -> None:
        self.exited.append(pid)
        self._exit.set()

    async def until_exit(self, pid: int) -> None:
        async with asyncio.timeout(60):
            while pid not in self.exited:
                self._exit.clear()
                await self._exit.wait()

    def begin(self, name: str, *, memory_limit: int | None = None, home: str = "", **payload: Any) -> Run:
        return Run(self.pool, name, memory_limit, home, payload)

    async def __call__(self, name: str, **options: Any) -> Any:
        return await self.begin(name, **options).task

    async def pid(self) -> int:
        return int((await self("who"))["pid"])


@asynccontextmanager
async def opened(target: Target | None = None, **options: Any) -> AsyncIterator[Pool]:
    pool = Pool(target or Target.parse(f"{APP}:app"), **options)
    await pool.pool.start()
    try:
        yield pool
    finally:
        await pool.pool.stop()
        assert sorted(pool.exited) == sorted(pool.spawned)
        assert not any(lives(pid) for pid in pool.spawned)


def sync(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    import functools

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def lives(pid: int) -> bool:
    """A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for_end(pid: int, timeout: float = 10.0) -> bool:
    """Of any process; woken by the kernel."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], timeout)[0])
    finally:
        os.close(fd)


# -- what comes back ---------------------------------------------------------------------------------------------------


@sync
async def test_values_come_back_from_sync_and_async_bodies() -> None:
    value = {"a": [1, 2.5, None, True, "é\u2028\n"], "b": {}}
    async with opened() as pool:
        assert await pool("echo", value=value) == value
        assert await pool("echo_async", value=value) == value
        assert await pool("echo", value="x" * 200_000) == "x" * 200_000
        assert len(pool.spawned) == 1


@sync
async def test_outcomes_travel_as_values() -> None:
    async with opened() as pool:
        assert await pool("outcome", kind="done") == Done({"a": [1, "é"]})
        assert await pool("outcome", kind="snooze") == Snooze(timedelta(minutes=2))
        assert await pool("outcome", kind="cancel") == Cancel("enough")
        failed = await pool("outcome", kind="fail")
    assert isinstance(failed, Fail) and failed.error_class == "budget"
    assert isinstance(failed.error, RemoteError) and failed.error.is_a(ConnectionError)


@sync
async def test_an_error_is_told_by_names_and_text() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError) as caught:
            await pool("refuse")
    error = caught.value
    assert str(error) == "wait a little"
    assert error.mro_names[0] == "__main__.Refused" and error.type_name == "Refused"
    assert error.is_a(ConnectionError) and error.is_a(OSError) and not error.is_a(ValueError)
    assert error.attributes == {"status_code": 429, "retry_after": 2.5, "code": "slow_down"}
    assert (error.status_code, error.retry_after) == (429, 2.5)
    assert "in refuse\n" in error.remote_traceback and "lanework/_child" not in error.remote_traceback


@sync
async def test_what_cannot_be_stored_names_its_place() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError, match=r"result\.at\[0\] is a set") as caught:
            await pool("unstorable")
        assert caught.value.is_a(InvalidResult) and caught.value.remote_code == "LW-410"


@sync
async def test_sys_exit_in_a_body_is_an_error_and_not_a_death() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError) as caught:
            await pool("leave")
        assert caught.value.is_a(SystemExit)
        assert len(pool.spawned) == 1


@sync
async def test_an_unknown_type_says_what_to_do() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError, match="import its module where the application is") as caught:
            await pool("nowhere")
        assert caught.value.is_a(ConfigError)


@sync
async def test_async_bodies_share_a_loop_but_no_tasks() -> None:
    async with opened() as pool:
        assert await pool("loop_identity") == await pool("loop_identity")


# -- where it runs -----------------------------------------------------------------------------------------------------


@sync
async def test_a_child_stands_in_its_own_group_with_nothing_secret() -> None:
    async with opened(nice=3) as pool:
        told = await pool("who")
        pid = pool.spawned[0]
    assert told["nice"] == os.nice(0) + 3
    assert told["autogroup"] in (None, 3)
    assert told["pid"] == told["session"] == told["group"] == pid
    assert told["argv"][1:5] == ["-P", "-m", "lanework._child", told["argv"][4]] and told["argv"][5] == "tested"
    # The two are put there by libreadline in this process, past `os.environ`.
    assert set(told["environment"]) - set(os.environ) <= {"COLUMNS", "LINES"}
    assert told["oom"] == min(1000, int(Path("/proc/self/oom_score_adj").read_text()) + 500)
    assert pool.sent == [(pid, 7)]
    assert told["context"] == [7, 2, 9, "lane", "who", "me", {"page": 3}]


@sync
async def test_at_most_size_children_and_jobs_wait_their_turn() -> None:
    async with opened(size=2) as pool:
        first, second, third = (pool.begin("cooperative") for _ in range(3))
        await first.link.until("started")
        await second.link.until("started")
        assert pool.pool.free == 0 and not third.link.told
        await first.cancel()
        await third.link.until("started")
        await asyncio.gather(second.cancel(), third.cancel())
        assert len(pool.spawned) == 2 and pool.pool.free == 2


@sync
async def test_a_cancel_before_the_start_starts_nothing() -> None:
    async with opened() as pool:
        first = pool.begin("cooperative")
        await first.link.until("started")
        second = pool.begin("cooperative")
        await asyncio.sleep(0)
        assert await second.cancel() < bound(0.1)
        await first.cancel()
        assert await pool("echo", value=1) == 1
        assert not second.link.told


@sync
async def test_a_child_outlives_the_thread_that_asked_for_it() -> None:
    """PDEATHSIG follows the thread that forked."""
    started: list[Any] = []

    def ask() -> None:
        started.append(asyncio.run(Spawner().spawn("tested")))
        message = {"parent": os.getpid(), "target": Target.parse(f"{APP}:app").to_json(), "nice": 0}
        started[0].sock.sendall(json.dumps(["boot", message]).encode() + b"\n")
        assert started[0].sock.recv(100) == b'["ready"]\n'  # by now it has asked for the signal

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    with started[0].sock, started[0].popen as popen:
        assert not wait_for_end(popen.pid, 0.3)
        end_group(popen.pid, timeout=0)
    for fd in started[0].output:
        os.close(fd)


# -- how it dies -------------------------------------------------------------------------------------------------------


@sync
async def test_an_exit_names_its_code_and_keeps_the_last_words() -> None:
    async with opened() as pool:
        run = pool.begin("exit_hard", code=3)
        with pytest.raises(ProcessDied) as caught:
            await run.task
        assert caught.value.cause == "exit code 3" and caught.value.pid == pool.spawned[0]
        assert run.link.log("stdout") == ["last words"]
        assert await pool("echo", value="next") == "next"


@sync
async def test_a_segfault_names_its_signal_and_its_line() -> None:
    async with opened() as pool:
        run = pool.begin("segfault")
        with pytest.raises(ProcessDied, match=r"signal 11 \(SIGSEGV\)"):
            await run.task
        assert run.link.log("stdout") == ["before the crash"]
        assert any("in segfault" in line for line in run.link.log("stderr"))


@sync
async def test_memory_over_the_limit_is_a_death_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand, "MEMORY_CHECK_S", 0.02)
    async with opened() as pool:
        with pytest.raises(ProcessDied, match=r"out of memory: \d+ MB over the limit of 200 MB"):
            await pool("hog", memory_limit=200_000_000)
        assert await pool("echo", value=1, memory_limit=200_000_000) == 1


@sync
async def test_death_is_noticed_although_a_forked_process_holds_the_pipes() -> None:
    async with opened() as pool:
        run = pool.begin("fork_and_die")
        await run.link.until("forked")
        began = time.monotonic()
        with pytest.raises(ProcessDied, match="SIGKILL"):
            await run.task
        assert time.monotonic() - began < bound(LONG / 2)
        forked = int(run.link.log()[0].split()[1])
        assert not lives(forked)


@sync
async def test_a_child_that_dies_idle_is_replaced_silently() -> None:
    async with opened() as pool:
        pid = await pool.pid()
        os.kill(pid, signal.SIGKILL)
        await pool.until_exit(pid)
        assert await pool.pid() != pid


@sync
async def test_a_child_that_died_a_moment_ago_is_not_given_a_job() -> None:
    async with opened() as pool:
        pid = await pool.pid()
        os.kill(pid, signal.SIGKILL)
        assert wait_for_end(pid)  # and the loop has had no turn to hear of it
        assert await pool("echo", value=1) == 1


@sync
async def test_stop_ends_a_running_job() -> None:
    async with opened() as pool:
        run = pool.begin("stubborn")
        await run.link.until("started")
        await pool.pool.stop()
        with pytest.raises(ProcessDied, match="the worker stopped"):
            await run.task


@sync
async def test_stop_while_children_start() -> None:
    async with opened() as pool:
        run = pool.begin("echo")
        await asyncio.sleep(0)
        await pool.pool.stop()
        with pytest.raises(ConfigError, match="stopped"):
            await run.task


def test_nothing_outlives_a_worker_that_is_killed(tmp_path: Path) -> None:
    """The children by the kernel; what they started by the guard, which was told every pid before any job code ran."""
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED_WORKER, str(APP)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])},
    )
    assert worker.stdout is not None
    told = [worker.stdout.readline().split() for _ in range(4)]
    children = [int(pid) for kind, pid in told if kind == b"child"]
    grandchildren = [int(pid) for kind, pid in told if kind == b"grandchild"]
    assert len(children) == len(grandchildren) == 2
    worker.kill()
    worker.wait()
    worker.stdout.close()
    assert all(wait_for_end(pid, 5) for pid in children)
    assert all(end_group(pid) for pid in children)
    assert not any(lives(pid) for pid in grandchildren)


KILLED_WORKER = """
import asyncio, sys, uuid
from types import SimpleNamespace
import tests.test_process_pool as t

class Link(t.FakeLink):
    def tell(self, op, data):
        if data.get("text", "").startswith("forked"):
            print("grandchild", data["text"].split()[1], flush=True)
    async def aask(self, op, data):
        await asyncio.sleep(1000)

async def main():
    t.FakeLink = Link
    pool = t.ProcessPool(t.Target.parse(sys.argv[1] + ":app"), size=2,
                         on_spawn=lambda pid: print("child", pid, flush=True))
    runs = [t.Run(pool, name, None, "", {}) for name in ("fork_and_die", "fork_and_spin")]
    await asyncio.gather(*(run.task for run in runs))

asyncio.run(main())
"""


# -- how it is stopped -------------------------------------------------------------------------------------------------


@sync
async def test_a_body_that_looks_ends_at_once_and_its_child_stays() -> None:
    async with opened(grace=ASK) as pool:
        run = pool.begin("cooperative")
        await run.link.until("started")
        assert await run.cancel("no longer needed") < LONG
        assert run.link.log() == ["started", "stopping: no longer needed"]
        assert await pool.pid() == pool.spawned[0]


@sync
async def test_an_async_body_is_cancelled_at_once() -> None:
    async with opened(grace=ASK) as pool:
        run = pool.begin("patient")
        await run.link.until("started")
        assert await run.cancel() < LONG
        assert run.link.log() == ["started", "cleaned up"]
        assert await pool.pid() == pool.spawned[0]


@sync
async def test_a_sleeping_body_ends_by_sigterm_and_cleans_up() -> None:
    async with opened(grace=TERM) as pool:
        run = pool.begin("sleeper")
        await run.link.until("started")
        assert TERM[0] <= await run.cancel() < LONG
        assert run.link.log() == ["started", "cleaned up"]
        assert pool.spawned[0] in pool.exited, "a child that was interrupted anywhere is not used again"
        assert await pool("echo", value=1) == 1


@pytest.mark.parametrize("name", ["stubborn", "deaf", "c_loop"])
def test_nothing_withstands_sigkill(name: str) -> None:
    async def test() -> None:
        async with opened() as pool:
            run = pool.begin(name)
            await run.link.until("started")
            assert sum(GRACE) <= await run.cancel() < LONG
            assert pool.exited == pool.spawned[:1]
            assert await pool("echo", value=1) == 1

    asyncio.run(test())


@sync
async def test_an_async_body_that_swallows_its_cancel_ends_by_sigterm() -> None:
    async with opened(grace=TERM) as pool:
        run = pool.begin("stubborn_async")
        await run.link.until("started")
        assert TERM[0] <= await run.cancel() < LONG
        assert run.link.log() == ["started", "swallowed"]


@sync
async def test_a_second_cancel_does_not_return_before_the_body_has_ended() -> None:
    async with opened() as pool:
        run = pool.begin("stubborn")
        await run.link.until("started")
        run.task.cancel()
        await asyncio.sleep(0.05)
        run.task.cancel()
        await asyncio.sleep(0.05)
        assert not run.task.done() and lives(pool.spawned[0])
        await run.cancel()
        assert not lives(pool.spawned[0])


@sync
async def test_a_thread_that_a_cancelled_body_left_ends_with_its_process() -> None:
    async with opened() as pool:
        run = pool.begin("leaves_thread")
        await run.link.until("started")
        await run.cancel()
        assert not lives(pool.spawned[0])


@sync
async def test_a_program_that_a_cancelled_body_waits_for_is_ended() -> None:
    async with opened(grace=TERM) as pool:
        run = pool.begin("waits_for_program")
        await run.link.until("started")
        assert await run.cancel() < LONG


@sync
async def test_signals_that_nobody_announced_do_nothing() -> None:
    async with opened() as pool:
        assert await pool("stray_signals") == "unmoved"


# -- what it writes ----------------------------------------------------------------------------------------------------


@sync
async def test_everything_a_job_writes_is_in_its_own_log() -> None:
    async with opened() as pool:
        first, second = pool.begin("writes"), pool.begin("echo", value=1)
        await asyncio.gather(first.task, second.task)
        assert first.link.log("stdout") == ["from print", "from C", "from a program", "no newline"]
        assert first.link.log("stderr") == ["to stderr"]
        assert first.link.log("info") == ["mine: from logging"]
        assert first.link.log("warning") == ["from ctx"]
        lines = first.link.log()
        assert lines.index("from a program") < lines.index("mine: from logging") < lines.index("no newline")
        assert second.link.log() == []


@sync
async def test_the_end_of_a_job_takes_what_is_in_the_pipes_without_waiting_for_a_turn_of_the_loop() -> None:
    pipes = [os.pipe(), os.pipe()]
    output = Output(asyncio.get_running_loop(), [reading for reading, _ in pipes], pid=0)
    first, second = FakeLink(), FakeLink()
    for link, text in ((first, "x" * 30_000 + "\n"), (second, "é")):
        output.begin(_capture.Sink(link))
        os.write(pipes[0][1], text.encode())
        os.write(pipes[1][1], "half a character: é".encode()[:-1])
        output.end()
    assert first.log() == ["x" * 8192 + "… (cut)", "half a character: \ufffd"]
    assert second.log() == ["é", "half a character: \ufffd"]
    output.close()
    for _, writing in pipes:
        os.close(writing)


@sync
async def test_c_buffers_are_flushed_at_the_end_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # it is for C too
    async with opened() as pool:
        run = pool.begin("writes_c_buffered")
        await run.task
        assert run.link.log("stdout") == ["from printf"]


@sync
async def test_a_flood_is_bounded_and_says_so() -> None:
    async with opened() as pool:
        printed, logged = pool.begin("floods", lines=30_000), pool.begin("logs_much", lines=30_000)
        await asyncio.gather(printed.task, logged.task)
        for run in (printed, logged):
            lines = run.link.log()
            assert len(lines) == 10_001 and lines[9_999] == "9999"
            assert lines[-1] == "… more than 10,000 lines: the rest is dropped"


@sync
async def test_a_long_line_is_cut() -> None:
    async with opened() as pool:
        run = pool.begin("long_line")
        await run.task
        assert run.link.log() == ["x" * 8192 + "… (cut)", "after"]


@sync
async def test_a_process_left_behind_does_not_write_into_the_next_job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    caplog.set_level(logging.INFO, "lanework.child")
    async with opened() as pool:
        left = await pool("leaves_process", fifo=str(fifo))
        run = pool.begin("opens", fifo=str(fifo), wait=0.1)
        await run.task
        assert run.link.log() == ["mine"]
        async with asyncio.timeout(60):
            while "ghost" not in caplog.text:
                await asyncio.sleep(0.01)
        assert await pool.pid() == pool.spawned[0], "a helper process that stays is no reason to lose the warm child"
    assert not lives(left)


@sync
async def test_what_a_child_says_between_jobs_is_not_the_log_of_the_job_it_was_started_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "lanework.child")
    target = application(
        tmp_path,
        """
        app.hooks.child_start.append(lambda: print("loading the model"))
        @app.job
        def work(ctx): print("working")
        """,
    )
    pool, waiting = Pool(target), FakeLink()
    _capture.install()
    try:
        with _capture.captured(waiting):
            run = pool.begin("work")
            await run.task
        assert "loading the model" in caplog.text
        assert (run.link.log(), waiting.log()) == (["working"], [])
    finally:
        _capture.uninstall()
        await pool.pool.stop()


@sync
async def test_progress_is_merged_and_the_last_one_arrives() -> None:
    async with opened() as pool:
        run = pool.begin("reports", times=20_000)
        await run.task
        told = [data for op, data in run.link.told if op == "progress"]
        assert len(told) < 20
        assert told[-1] == {"fraction": 1.0, "message": "step 20000", "data": {"last": 20_000}}


@sync
async def test_progress_that_cannot_be_stored_is_an_error_where_it_was_made() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError, match="is nan, which JSON cannot hold") as caught:
            await pool("reports_nan")
        assert "in reports_nan" in caught.value.remote_traceback


# -- what it asks ------------------------------------------------------------------------------------------------------


@sync
async def test_questions_are_answered_in_every_thread_and_task() -> None:
    async with opened() as pool:
        assert await pool("asks", state={"page": 1}) == [{"page": 1}] * 2
        assert await pool("asks_async", state="s") == [["s", number] for number in range(5)]


@sync
async def test_an_answer_that_is_an_error_is_raised_as_its_class() -> None:
    async with opened() as pool:
        assert await pool("asks_wrong", op="lost") == ["ClaimLost", "superseded"]
        assert await pool("asks_wrong", op="broken") == ["LaneworkError", "out of order"]


@sync
async def test_a_forked_process_can_be_ended_and_heard() -> None:
    async with opened() as pool:
        run = pool.begin("forks_helper")
        assert await run.task == -signal.SIGTERM
        assert run.link.log("stderr") == ["helper: from a fork", "ctx in a fork"]


# -- how it comes and goes ---------------------------------------------------------------------------------------------


@sync
async def test_a_child_is_replaced_after_so_many_jobs() -> None:
    async with opened(recycle_after=2) as pool:
        pids = [await pool.pid() for _ in range(5)]
        assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


@sync
async def test_a_child_is_replaced_when_it_has_grown() -> None:
    async with opened(recycle_rss=1) as pool:
        assert await pool.pid() != await pool.pid()


def application(tmp_path: Path, text: str) -> Target:
    file = tmp_path / "their_app.py"
    file.write_text("from tests.process_pool_app import Application\napp = Application()\n" + textwrap.dedent(text))
    return Target.parse(f"{file}:app")


@pytest.fixture(autouse=True)
def _tests_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE.parent))


@sync
async def test_hooks_run_once_per_child(tmp_path: Path) -> None:
    target = application(
        tmp_path,
        f"""
        from pathlib import Path
        def note(text):
            with open({str(tmp_path / "notes")!r}, "a") as file: file.write(text + "\\n")
        async def late(): note("async start")
        app.hooks.child_start += [lambda: note("start"), late]
        app.hooks.child_stop += [lambda: note("stop")]
        @app.job
        def work(ctx): note("work")
        """,
    )
    async with opened(target) as pool:
        await pool("work")
        await pool("work")
    assert (tmp_path / "notes").read_text().split("\n")[:-1] == ["start", "async start", "work", "work", "stop"]


@sync
async def test_an_import_that_fails_fails_every_run_and_is_not_tried_in_a_loop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    target = application(tmp_path, "import there_is_no_such_module")
    async with opened(target, size=4) as pool:
        for _ in range(20):
            with pytest.raises(ConfigError, match="No module named 'there_is_no_such_module'") as caught:
                await pool("echo")
            assert "their_app.py" in str(caught.value)
        assert len(pool.spawned) == 1 and pool.pool.failure is not None
    assert "no child process for" in caplog.text


@sync
async def test_a_crash_during_import_shows_its_last_words(tmp_path: Path) -> None:
    target = application(tmp_path, "import os, sys; print('the library said this', file=sys.stderr); os.abort()")
    async with opened(target) as pool:
        with pytest.raises(ConfigError, match=r"signal 6 \(SIGABRT\)\nthe library said this"):
            await pool("echo")


@sync
async def test_an_import_that_hangs_is_ended(tmp_path: Path) -> None:
    target = application(tmp_path, "import time; time.sleep(1000)")
    async with opened(target, start_timeout=0.5) as pool:
        with pytest.raises(ConfigError, match="not ready after"):
            await pool("echo")


@sync
async def test_a_start_hook_that_fails_is_tried_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_S", 0.05)
    target = application(
        tmp_path,
        f"""
        from pathlib import Path
        def load_model():
            if not Path({str(tmp_path / "model")!r}).exists():
                raise RuntimeError("the model is not there yet")
        app.hooks.child_start.append(load_model)
        @app.job
        def work(ctx): return "done"
        """,
    )
    async with opened(target) as pool:
        with pytest.raises(ConfigError, match="the model is not there yet"):
            await pool("work")
        (tmp_path / "model").touch()
        await asyncio.sleep(0.06)
        assert await pool("work") == "done"
        assert pool.pool.failure is None and len(pool.spawned) == 2


@sync
async def test_a_handler_in_another_module_is_found_by_its_home(tmp_path: Path) -> None:
    target = application(tmp_path, "")
    (tmp_path / "their_jobs.py").write_text("import __main__\n@__main__.app.job\ndef elsewhere(ctx): return 'found'\n")
    async with opened(target) as pool:
        assert await pool("elsewhere", home="their_jobs") == "found"


SCRIPT = """
import asyncio, os, sys
from tests.process_pool_app import Application, Handler
from tests.test_process_pool import Pool, Target

the_app = Application()

class Special(ValueError): ...

@the_app.job
def greet(ctx, whom):
    if not whom: raise Special("no name")
    return [f"hello {{whom}}", __name__]

async def main():
    pool = Pool(Target.of(the_app))
    await pool.pool.start()
    try:
        print(await pool("greet", whom="you", home=greet.__module__))
        try: await pool("greet", whom="", home=greet.__module__)
        except Exception as error: print(error.is_a(Special))
    finally:
        await pool.pool.stop()

{guard}asyncio.run(main())
"""


def run_script(tmp_path: Path, guard: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(guard=guard))
    return subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_script_whose_handlers_are_in_main(tmp_path: Path) -> None:
    ran = run_script(tmp_path, "if __name__ == '__main__': ")
    assert ran.stdout == "['hello you', '__lw_main__']\nTrue\n", ran.stderr


def test_a_script_that_was_loaded_by_path_is_found_again(tmp_path: Path) -> None:
    """`lanework worker script.py` loads the script itself, and its children load it from there."""
    found = "print(Target.of(Target.parse(sys.argv[1]).load()))"
    file = Path(application(tmp_path, "").main)
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; from lanework._loading import Target; {found}", str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == f"{file}:app\n", ran.stderr


def test_a_script_without_a_guard_is_told_so_and_starts_no_workers_in_children(tmp_path: Path) -> None:
    ran = run_script(tmp_path, "")
    assert ran.returncode == 1
    assert "put the start under `if __name__ == '__main__':`" in ran.stderr
