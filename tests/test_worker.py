"""A worker inside this process, `async with app.worker()`: where jobs run, what they say, and how they end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from lanework import Cancel, ConfigError, Context, Done, Fail, InvalidJob, JobCancelled, JobInfo, Lanework, Retryable, Snooze
from lanework._codec import encode
from lanework._guard.link import GuardLink
from lanework._services import run as running
from lanework._services.starts import Starts
from lanework.retries import ErrorClass
from lanework.testing import Clock
from tests.processes import database_app

DEEP: list[Any] = []
for _ in range(20_000):
    DEEP = [DEEP]


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database, beat=0.2, idle_beat=0.2, sweep=0.5) as app:
        app.lane("default", max_slots=None, poll_interval_ms=100)
        app.lane("work", max_slots=None, poll_interval_ms=100)
        yield app


async def rest(app: Lanework, *ids: int) -> list[JobInfo]:
    return [await app._await(job_id, timeout=60) for job_id in ids]


async def status(app: Lanework, job_id: int, wanted: str, attempt: int) -> JobInfo:
    async with asyncio.timeout(60):
        while (info := await app.aget(job_id)).status != wanted or info.attempt != attempt:
            await asyncio.sleep(0.01)
    return info


def test_executors_logs_progress_and_hooks(database: str) -> None:
    async def main() -> None:
        with database_app.using(database) as app:
            async with app, app.worker() as worker:
                types = ["speak_async", "speak_thread", "speak_process", "loop_thread", "loop_process"]
                ids = [app._submit(_submission(app, name, value=n)) for n, name in enumerate(types)]
                found = await rest(app, *ids)
                assert [info.error for info in found] == [None] * 5
                spoke, looped = found[:3], found[3:]
                assert [info.result["value"] for info in spoke] == [0, 2, 4]
                assert [info.result for info in looped] == [3, 4]
                pids = [info.result["pid"] for info in spoke]
                assert pids[:2] == [os.getpid()] * 2
                assert pids[2] != os.getpid()
                assert [info.result["happened"] for info in spoke] == [["start"], ["start"], ["child start"]]
                assert len({info.result["fence"] for info in spoke}) == 3
                for n, info in enumerate(spoke):
                    said = {(entry.stream, entry.text) for entry in await app.alogs(info.id)}
                    assert {("stdout", f"printed {n}"), ("stderr", "to stderr"), ("info", "said")} <= said
                    assert any(stream == "warning" and text.endswith(f"logged {n}") for stream, text in said)
                    assert (info.progress, info.progress_message) == (0.5, "half")
                health = worker.health()
                assert {one["state"] for one in health["services"]} <= {"running", "new"}
                assert health["lanes"]["speak"]["used"] == 0
            assert database_app.happened == ["start", "stop"]
            (row,) = app.workers(ended=True)
            assert (row.state, row.ended_because, row.pid) == ("stopped", "stopped", os.getpid())

    asyncio.run(main())


def _submission(app: Lanework, name: str, **arguments: Any) -> Any:
    from lanework.job import Options, Submission

    handler = app.handlers[name]
    return Submission(handler, handler.bind(**arguments), Options())


def test_retries_back_off_by_the_database_s_clock_and_go_on_from_the_checkpoint(database: str) -> None:
    async def main() -> None:
        with database_app.using(database) as app:
            app.lane("resume", poll_interval_ms=100)
            clock = Clock(app)
            async with app, app.worker():
                job_id = app._submit(_submission(app, "resume"))
                for tries, delay in ((1, 10), (2, 20), (3, 40)):
                    info = await status(app, job_id, "scheduled", tries)
                    assert info.tries_used == tries
                    (*_, last) = await app.aattempts(job_id)
                    assert info.run_at is not None
                    waits = (info.run_at - last.ended_at).total_seconds()
                    assert delay / 2 <= waits <= delay  # with jitter over the upper half; nobody sleeps for it here
                    await clock.aadvance(seconds=delay)
                (info,) = await rest(app, job_id)
                assert (info.status, info.attempt, info.tries_used) == ("completed", 4, 3)
                assert info.result == [[1, 0], [2, 1], [3, 2], [4, 3]]
                history = await app.aattempts(job_id)
                assert [(one.attempt, one.outcome, one.error_class, one.error_code) for one in history] == [
                    (n, "retry", "transient", "LW-420") for n in (1, 2, 3)
                ]
                assert "in resume" in (history[1].traceback or "")
                assert history[1].error == "ConnectionError: attempt 2 broke"

    asyncio.run(main())


class Odd(Exception):
    """Only a classifier knows what it means."""


def test_outcomes_and_classes(app: Lanework) -> None:
    @app.job("outcome", lane="work", max_tries=3, backoff_base=0.01)
    async def outcome(ctx: Context, kind: str) -> Any:
        again = ctx.attempt > 1
        match kind:
            case "done":
                return Done({"n": 5})
            case "snooze":
                return None if again else Snooze(0.05)
            case "throttled":
                if not again:
                    raise Retryable("slow down", error_class="throttled", retry_after=0.05)
                return "went through"
            case "cancel":
                return Cancel("not wanted")
            case "fail":
                return Fail("said so")
            case "fail with":
                return Fail(KeyError("k"), error_class="invalid_input")
            case "refused":
                raise InvalidJob("bad", field="kind")
            case "odd":
                raise Odd
        raise ValueError("always")

    @app.job("slow", lane="work", timeout=0.1, max_tries=2, backoff_base=0.01)
    async def slow(ctx: Context) -> None:
        await asyncio.sleep(60)

    @app.classifier
    def know(error: BaseException) -> ErrorClass | None:
        return "permanent" if isinstance(error, Odd) else None

    expected = {  # status, error_class, error_code, attempt, tries_used
        "done": ("completed", None, None, 1, 0),
        "snooze": ("completed", None, None, 2, 0),
        "throttled": ("completed", None, None, 2, 0),
        "cancel": ("cancelled", None, None, 1, 0),
        "fail": ("failed", "permanent", "LW-421", 1, 0),
        "fail with": ("failed", "invalid_input", "LW-420", 1, 0),
        "refused": ("failed", "invalid_input", "LW-300", 1, 0),
        "odd": ("failed", "permanent", "LW-420", 1, 0),
        "always": ("failed", "unknown", "LW-420", 3, 3),
    }

    async def main() -> None:
        async with app, app.worker():
            ids = {kind: (await outcome.asubmit(kind)).id for kind in expected}
            ids["slow"] = (await slow.asubmit()).id
            found = dict(zip(ids, await rest(app, *ids.values()), strict=True))
            for kind, wanted in {**expected, "slow": ("failed", "timeout", "LW-404", 2, 2)}.items():
                info = found[kind]
                assert (info.status, info.error_class, info.error_code, info.attempt, info.tries_used) == wanted, kind
            assert (found["done"].result, found["throttled"].result) == ({"n": 5}, "went through")
            assert (found["cancel"].error, found["fail"].error) == ("not wanted", "said so")
            history = await app.aattempts(ids["always"])
            assert [one.attempt for one in history] == [1, 2, 3]
            assert all("ValueError: always" in (one.traceback or "") for one in history)
            assert [one.outcome for one in await app.aattempts(ids["snooze"])] == ["snooze"]

    asyncio.run(main())


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


#: Kind → what a handler returns, or raises.
POISON: dict[str, Any] = {
    "NUL": "a\0b", "surrogate": ["\ud800"], "NaN": float("nan"), "infinite": {"x": float("inf")}, "too big": "x" * 1_100_000,
    "deep": DEEP, "no JSON": {1, 2}, "only PostgreSQL refuses": "beyond the encoder",
    "cancel": Cancel("\0\ud800"), "snooze": Snooze(float("nan")), "snooze for ever": Snooze(1e300), "fail": Fail("\0", "\ud800"),
    "error": ValueError("\0\ud800"), "unspeakable": Unspeakable(), "killer": RecursionError("\0" * 100_000),
}  # fmt: skip


@pytest.mark.parametrize("slots", [3, 200], ids=["finishes with claims", "finishes beside claims"])
def test_poison_fails_only_its_own_job(app: Lanework, slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Red without `_complete_alone`'s halving, with `Verdict.as_json` passing values on as they are, and with a bare str(error):
    # the lane sends the same refused batch again and again, or the job stays `running`.

    def with_a_hole(value: Any, **options: Any) -> str:
        return '"\\u0000"' if value == "beyond the encoder" else encode(value, **options)

    monkeypatch.setattr(running, "encode", with_a_hole)

    kinds = [*(["good"] * 50), *POISON, *(["loud", "good"] * 25)]
    inside: list[str] = []
    together = asyncio.Event()

    @app.job("poison", lane="poison", max_tries=1)
    async def poison(ctx: Context, kind: str) -> Any:
        inside.append(kind)
        if len(inside) == min(slots, len(kinds)):
            together.set()
        await together.wait()  # they end in one moment, and so in one batch
        if kind == "loud":
            ctx.log("\0 and \ud800")
            ctx.progress(0.1, "\0")
        if kind in ("good", "loud"):
            return "fine"
        value = POISON[kind]
        if ctx.attempt > 1:
            return "again"
        if isinstance(value, Exception):
            raise value
        return value

    async def main() -> None:
        app.lane("poison", max_slots=slots, poll_interval_ms=100)
        async with app, app.worker():
            handles = await poison.asubmit_many([(kind,) for kind in kinds])
            waits = {"snooze for ever"}
            found = await rest(app, *(one.id for one, kind in zip(handles, kinds, strict=True) if kind not in waits))
            ended = dict(zip([kind for kind in kinds if kind not in waits], found, strict=True))
            assert [info.status for info in found if info.result == "fine"] == ["completed"] * 100
            for kind in ("NUL", "surrogate", "NaN", "infinite", "too big", "deep", "no JSON", "only PostgreSQL refuses"):
                info = ended[kind]
                assert (info.status, info.error_class, info.error_code) == ("failed", "permanent", "LW-410"), kind
            assert (ended["cancel"].status, ended["cancel"].error) == ("cancelled", "\\x00\\ud800")
            assert ended["snooze"].result == "again"
            assert (await app.aget(handles[kinds.index("snooze for ever")].id)).status == "scheduled"
            for kind in ("fail", "error", "unspeakable", "killer"):
                assert ended[kind].status == "failed", kind

    asyncio.run(main())


def test_a_running_job_is_cancelled_and_says_why(app: Lanework) -> None:
    started = asyncio.Event()

    @app.job("endless", lane="work")
    async def endless(ctx: Context) -> None:
        started.set()
        try:
            await asyncio.sleep(600)
        finally:
            seen.append(ctx.cancelled)

    seen: list[bool] = []

    async def main() -> None:
        async with app, app.worker():
            handle = await endless.asubmit()
            async with asyncio.timeout(90):
                await started.wait()
            assert await handle.acancel("changed my mind") == "stopping"
            with pytest.raises(JobCancelled, match="changed my mind"):
                await handle.aresult(timeout=90)
            assert seen == [True]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("kind", "ends"), [("release", ("completed", 2, 0)), ("cancel", ("cancelled", 1, 0)), ("timeout", ("completed", 2, 1))]
)
def test_a_run_that_is_stopped_before_its_first_step(
    app: Lanework, monkeypatch: pytest.MonkeyPatch, kind: str, ends: tuple[str, int, int]
) -> None:
    """The stop comes in the turn of the loop that has made its task: nothing of the body has run, and it ends like any other."""

    def stopped(self: Starts, row: Any, *more: Any) -> None:
        right(self, row, *more)
        if row.attempt == 1:
            self._lane.runs[row.id].stop(kind, "at once")

    right = Starts._one
    monkeypatch.setattr(Starts, "_one", stopped)

    @app.job(lane="work", backoff_base=0.01)
    async def here(ctx: Context) -> int:
        return ctx.attempt

    @app.job(lane="work", backoff_base=0.01, executor="thread")
    def there(ctx: Context) -> int:
        return ctx.attempt

    async def main() -> None:
        async with app, app.worker() as worker:
            found = await rest(app, (await here.asubmit()).id, (await there.asubmit()).id)
            assert [(one.status, one.attempt, one.tries_used) for one in found] == [ends] * 2
            assert worker.lanes["work"].used == 0 and not worker.lanes["work"].runs

    asyncio.run(main())


def test_what_a_claim_brings_to_a_worker_that_is_fenced_is_given_back(app: Lanework, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim was under way when beats had failed for too long: others may take its jobs before they are done here."""

    def late(self: Starts, row: Any, *more: Any) -> None:
        worker: Any = self._lane.host
        worker._fenced = row.attempt == 1
        right(self, row, *more)
        worker._fenced = False

    right = Starts._one
    monkeypatch.setattr(Starts, "_one", late)

    @app.job(lane="work")
    async def stops(ctx: Context) -> int:
        return ctx.attempt

    @app.job(lane="work", on_disconnect="hold")
    async def holds(ctx: Context) -> int:
        return ctx.attempt

    async def main() -> None:
        async with app, app.worker():
            found = await rest(app, (await stops.asubmit()).id, (await holds.asubmit()).id)
            assert [(one.result, one.tries_used) for one in found] == [(2, 0), (1, 0)]

    asyncio.run(main())


def test_a_worker_that_leaves_gives_back_what_it_could_not_finish(app: Lanework) -> None:
    started = asyncio.Event()

    @app.job("long", lane="work")
    async def long(ctx: Context) -> int:
        started.set()
        await asyncio.sleep(0 if ctx.attempt > 1 else 600)
        return ctx.attempt

    async def main() -> None:
        async with app:
            handle = await long.asubmit()
            async with app.worker(grace=0.1), asyncio.timeout(90):
                await started.wait()
            info = await handle.ainfo()
            assert (info.status, info.attempt, info.tries_used, info.worker_id) == ("approved", 1, 0, None)
            async with app.worker():
                assert await handle.aresult(timeout=90) == 2

    asyncio.run(main())


def test_a_worker_that_has_ended_does_not_begin_again(app: Lanework, monkeypatch: pytest.MonkeyPatch) -> None:
    """A beat may come between the worker's own end and the guard's goodbye. It says that the number is retired, and is right."""
    app.job("x")(lambda ctx: None)
    leave = GuardLink.leave
    said: list[str] = []

    async def after_a_beat(link: GuardLink, reason: str, timeout: float) -> None:
        passed_on, heard = link._on_retired, asyncio.Event()

        def hear(why: str, worker_id: int) -> None:
            passed_on(why, worker_id)
            said.append(why)
            heard.set()

        link._on_retired = hear
        link.beat_now()
        async with asyncio.timeout(90):
            await heard.wait()
        await leave(link, reason, timeout)

    monkeypatch.setattr(GuardLink, "leave", after_a_beat)

    async def main() -> None:
        async with app:
            async with app.worker() as worker:
                first = worker.worker_id
            worker.retired("late", first)
            await asyncio.sleep(0)
            assert (said[:1], worker._begins) == (["stopped"], None)
            assert [(row.id, row.state) for row in app.workers(ended=True)] == [(first, "stopped")]

    asyncio.run(main())


def test_words_about_an_older_number_are_not_heard(app: Lanework) -> None:
    app.job("x")(lambda ctx: None)

    async def main() -> None:
        async with app, app.worker() as worker:
            first = worker.worker_id
            worker.retired("silent", first)
            assert worker._begins is not None
            await worker._begins
            worker.retired("silent", first)  # of a beat, or of a claim, that was under way
            assert worker._begins.done() and worker.worker_id != first

    asyncio.run(main())


def test_workers_that_do_not_start(app: Lanework) -> None:
    async def main() -> None:
        async with app:
            with pytest.raises(ConfigError, match="declares no job"):
                await app.worker().start()
            with pytest.raises(ConfigError, match="no_such"):
                app.worker(no_such=1)
            app.job("x")(lambda ctx: None)
            async with app.worker(worker=False) as off:
                assert (off.health()["state"], app.workers()) == ("off", [])

    asyncio.run(main())
