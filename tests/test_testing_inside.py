"""`lanework.testing` and the inside of a job: steps, crashes, attempts, maps, children; and the pytest plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lanework import ClaimLost, ConfigError, Context, ItemError, Lanework, Partial, Retryable, Snooze, Wait
from lanework._children import ChildResult
from lanework.testing import Clock, RecordingContext, SimulatedCrash, drain, run, stub, work

ROOT = Path(__file__).parents[1]


@pytest.fixture
def nowhere() -> Lanework:
    """An application whose database does not exist: whoever connects fails."""
    return Lanework("host=/nowhere/at/all dbname=x", connect_timeout=1)


def test_steps_are_kept_over_crashes_and_retries(nowhere: Lanework) -> None:
    """Seen red: with a link that forgets its steps."""
    calls: list[str] = []

    def pay(name: str) -> tuple[str, int]:
        calls.append(name)
        return (name, 1)

    @nowhere.job("bill", max_tries=3)
    def bill(ctx: Context, fails: int = 0) -> list[Any]:
        found = [ctx.step(name, pay, name) for name in ("a", "b")]
        if ctx.attempt <= fails:
            raise ConnectionError("again")
        return [*found, ctx.attempt]

    ctx = RecordingContext.make().crash_at("after_step:a", "before_step:b")
    assert work(bill, ctx=ctx) == [["a", 1], ["b", 1], 3]
    assert calls == ["a", "b", "b"]  # b was not stored when the process died
    assert ctx.steps == {"a": ["a", 1], "b": ["b", 1]}
    with pytest.raises(SimulatedCrash, match="after_step:a"):
        run(bill, ctx=RecordingContext.make().crash_at("after_step:a"))
    assert work(bill, fails=2) == [["a", 1], ["b", 1], 3]
    with pytest.raises(ConnectionError):
        work(bill, fails=3)  # three tries


def test_work_judges_errors_as_a_worker_does(nowhere: Lanework) -> None:
    seen: list[int] = []

    @nowhere.job("judge", max_tries=5)
    async def judge(ctx: Context, error_class: str) -> Any:
        seen.append(ctx.attempt)
        if ctx.attempt < 3:
            raise Retryable("no", error_class=error_class)  # type: ignore[arg-type]
        return Snooze(1)

    assert work(judge, "transient") == Snooze(1)
    assert seen == [1, 2, 3]
    with pytest.raises(Retryable):
        work(judge, "permanent")
    assert seen == [1, 2, 3, 1]


def test_a_superseded_attempt_writes_nothing(nowhere: Lanework) -> None:
    @nowhere.job("late")
    async def late(ctx: Context) -> str:
        assert isinstance(ctx, RecordingContext)
        await ctx.astep("before", str)
        if ctx.attempt == 1:
            ctx.supersede()
        await ctx.astep("after", str)
        return "done"

    ctx = RecordingContext.make()
    with pytest.raises(ClaimLost):
        run(late, ctx=ctx)
    assert ctx.steps == {"before": ""}
    again = ctx.next_attempt()
    assert (again.attempt, again.fence, again.job_id) == (2, 2, 1)
    assert run(late, ctx=again) == "done"
    assert again.steps == {"before": "", "after": ""}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_maps_end_partial_and_crash_whole(nowhere: Lanework, kind: str) -> None:
    """Seen red (sync): with items that go on after the crash of another one."""
    calls: list[int] = []

    def one(n: int) -> int:
        calls.append(n)
        if n == 2:
            raise ValueError("two")
        return n * 10

    @nowhere.job("sync_map")
    def sync_map(ctx: Context) -> list[int]:
        return list(ctx.map("m", [1, 2, 3], one, concurrency=1))

    @nowhere.job("async_map")
    async def async_map(ctx: Context) -> list[int]:
        return list(await ctx.amap("m", [1, 2, 3], one, concurrency=1))

    job = sync_map if kind == "sync" else async_map
    found = run(job)
    assert isinstance(found, Partial) and found.result == [10, 30]
    (error,) = found.errors
    assert isinstance(error, ItemError) and (error.item, error.error) == ("m[1]", "ValueError: two")
    first = RecordingContext.make()
    run(job, ctx=first)
    key = next(key for key in first.steps if key.startswith("m[0:"))
    calls.clear()
    ctx = RecordingContext.make().crash_at(f"after_step:{key}")
    assert isinstance(work(job, ctx=ctx), Partial)
    assert calls == [1, 2, 3]  # a process that is dead runs nothing more; then what is missing runs


def test_children_are_remembered_and_answered(nowhere: Lanework) -> None:
    @nowhere.job("page")
    async def page(ctx: Context, n: int) -> int:
        return n

    @nowhere.job("book")
    async def book(ctx: Context) -> Any:
        ended = await ctx.achildren()
        if not ended:
            one = await ctx.asubmit_child("title", page, 0)
            return Wait([one, *await ctx.asubmit_children("page", page, [(1,), {"n": 2}])])
        return [[child.name, child.ok, child.result] for child in ended]

    ctx = RecordingContext.make()
    waits = run(book, ctx=ctx)
    assert isinstance(waits, Wait) and len(waits.children) == 3
    assert [(name, type) for name, (_, type, _) in ctx.record.children.items()] == [
        ("title", "page"), ("page[0]", "page"), ("page[1]", "page")
    ]  # fmt: skip
    ctx.record.child_results["page[1]"] = ChildResult("page[1]", 4, "page", "failed", None, "permanent", "no")
    ctx.record.child_results["title"] = ChildResult("title", 2, "page", "completed", 7, None, None)
    assert run(book, ctx=ctx.next_attempt()) == [["title", True, 7], ["page[0]", True, None], ["page[1]", False, None]]


def test_what_needs_a_database_says_so(nowhere: Lanework) -> None:
    @nowhere.job("pay")
    def pay(ctx: Context) -> None:
        with ctx.transaction():
            pass

    with pytest.raises(ConfigError, match=r"testing\.drain"):
        run(pay)
    with stub(nowhere) as taken:
        pay.options(session="s").submit()
        assert taken.assert_submitted(pay).options.session == "s"


def test_drain_works_the_inside_of_jobs(app: Lanework) -> None:
    """Steps, children and sessions with a real worker, and time that moves."""
    done: list[Any] = []

    @app.job("page", lane="pages")
    async def page(ctx: Context, n: int) -> int:
        return n

    @app.job("book", lane="books", backoff_base=1000)
    def book(ctx: Context, n: int) -> Any:
        ctx.step("pay", done.append, f"paid {n}")
        if n == 1 and ctx.tries_used == 0:
            raise ConnectionError("in a quarter of an hour")
        if not ctx.children:
            return Wait(ctx.submit_children("page", page, [(1,), (2,)]))
        done.append(n)
        return sum(child.result for child in ctx.children)

    first, second = [book.options(session="shelf").submit(n) for n in (1, 2)]
    late = book.options(run_at=timedelta(hours=3)).submit(3)
    app.lanes.list()
    drain(app)
    assert (done, first.info().status, second.info().status) == (["paid 1"], "scheduled", "blocked")
    clock = Clock(app)
    clock.advance(hours=1)
    drain(app)
    assert done == ["paid 1", 1, "paid 2", 2]
    assert [first.result(1), second.result(1), late.info().status] == [3, 3, "scheduled"]
    clock.advance(hours=3)
    drain(app)
    assert late.result(1) == 3
    clock.reset()


TESTS = """
from lanework import Context, Lanework
from lanework.testing import Clock, drain

def test_a_job(lanework_database):
    assert "lanework_test_" in lanework_database
    with Lanework(lanework_database, allow_unsafe=True) as app:
        @app.job
        async def double(ctx: Context, n: int) -> int:
            return await ctx.astep("double", lambda: 2 * n)
        handle = double.submit(4)
        drain(app)
        assert handle.result(1) == 8
        Clock(app).advance(hours=1)

def test_another_database(lanework_database):
    with Lanework(lanework_database, allow_unsafe=True) as app:
        @app.job
        async def nothing(ctx: Context) -> None: ...
        assert app.list() == []
"""


@pytest.mark.timeout(180)
def test_the_pytest_plugin(tmp_path: Path) -> None:
    """In a run of its own, as an application has it."""
    (tmp_path / "test_mine.py").write_text(TESTS)
    installed = subprocess.run(
        [sys.executable, "-c", "from importlib.metadata import entry_points as e; print([p.value for p in e(group='pytest11')])"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    plugin = [] if "lanework.pytest_plugin" in installed else ["-p", "lanework.pytest_plugin"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    told = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, str(tmp_path)]
    ran = subprocess.run(told, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=170)
    assert ran.returncode == 0 and "2 passed" in ran.stdout, ran.stdout + ran.stderr


def test_drain_does_not_leave_a_parent_that_is_about_to_be_woken(app: Lanework, database: str) -> None:
    """Its last child ended while it was being parked; the sweep, or its worker's second look, finds it."""
    asked: list[int] = []

    @app.job("page", lane="pages")
    async def page(ctx: Context) -> None: ...

    @app.job("book", lane="books")
    def book(ctx: Context) -> int:
        if not asked:
            asked.append(1)
            return Wait(ctx.submit_children("page", page, [()]))  # type: ignore[return-value]
        return 5

    job = book.submit()
    drain(app, "books")
    assert job.info().status == "blocked"
    with psycopg.connect(database) as conn:
        conn.execute("delete from lanework.jobs where parent is not null")
    drain(app, "books")
    assert job.result(1) == 5
