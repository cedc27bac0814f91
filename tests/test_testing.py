"""`lanework.testing`, as the tests of an application use it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from lanework import ConfigError, Context, InvalidJob, Job, Lanework, LaneworkError, Snooze
from lanework.errors import InvalidResult
from lanework.testing import Clock, RecordingContext, arun, drain, run, stub


@pytest.fixture
def nowhere() -> Lanework:
    """An application whose database does not exist: whoever connects fails."""
    return Lanework("host=/nowhere/at/all dbname=x", connect_timeout=1)


def digest_of(app: Lanework) -> Job[..., Any]:
    @app.job("digest")
    async def digest(ctx: Context, url: str, words: int = 200) -> Any:
        ctx.progress(0.5, "half")
        ctx.log("working")
        await ctx.acheckpoint({"url": url})
        if words == 0:
            return Snooze(5)
        if words < 0:
            return object()
        return (url, words, ctx.saved)

    return digest


def test_run_goes_through_the_same_checks_and_the_same_json(nowhere: Lanework) -> None:
    digest = digest_of(nowhere)
    context = RecordingContext.make(saved={"old": 1}, attempt=3)
    assert run(digest, "u", ctx=context) == ["u", 200, {"url": "u"}]  # a tuple is an array by then
    assert context.progress_reports == [(0.5, "half")]
    assert context.log_entries == [("info", "working")]
    assert context.checkpoints == [{"url": "u"}]
    assert run(digest, "u", words=0) == Snooze(5)
    with pytest.raises(InvalidJob) as caught:
        run(digest, 7)
    assert caught.value.field == "url"
    with pytest.raises(InvalidResult):
        run(digest, "u", words=-1)
    assert asyncio.run(arun(digest, "u", 3)) == ["u", 3, {"url": "u"}]


def test_a_stub_takes_submits_and_reaches_no_database(nowhere: Lanework) -> None:
    digest = digest_of(nowhere)
    with stub(nowhere) as taken:
        taken.assert_nothing_submitted()
        first = digest.options(priority=7).submit("a")
        many = digest.submit_many([("b", 1), {"url": "c"}])
        asyncio.run(digest.asubmit("d"))
        asyncio.run(digest.asubmit_many([("e",)]))
        assert [first.id, *(one.id for one in many)] == [1, 2, 3]
        assert [one.arguments["url"] for one in taken.of(digest)] == ["a", "b", "c", "d", "e"]
        assert taken.assert_submitted(digest, "a").options.priority == 7
        assert taken.assert_submitted(digest).arguments["url"] == "a"
        with pytest.raises(AssertionError, match=r'(?s)digest .*"z".* was not submitted; submitted was:\n  digest .*"a"'):
            taken.assert_submitted(digest, "z")
        with pytest.raises(AssertionError, match="expected no submit"):
            taken.assert_nothing_submitted()
        with pytest.raises(InvalidJob):
            digest.submit(5)
        assert len(taken.submitted) == 5
    with pytest.raises(LaneworkError):
        digest.submit("a")  # outside of the block it is real again


def test_drain_works_what_is_queued_and_leaves_what_is_delayed_or_elsewhere(app: Lanework) -> None:
    done: list[str] = []

    @app.job("x", lane="a", backoff_base=1000)
    async def x(ctx: Context, name: str, then: bool = False) -> None:
        done.append(name)
        if then:
            await x.asubmit("by a job")
        if name == "fails" and ctx.attempt == 1:
            raise ConnectionError

    @app.job("y", lane="b")
    def y(ctx: Context) -> None:
        done.append("y")

    x.submit("first", then=True)
    x.submit("fails")
    x.options(run_at=timedelta(hours=1)).submit("late")
    y.submit()
    drain(app, "a")
    assert sorted(done) == ["by a job", "fails", "first"]
    clock = Clock(app)
    clock.advance(minutes=59)
    drain(app, "a")
    assert sorted(done) == ["by a job", "fails", "fails", "first"]
    clock.advance(minutes=2)
    drain(app)
    assert sorted(done) == ["by a job", "fails", "fails", "first", "late", "y"]
    clock.reset()
    assert abs(clock.offset.total_seconds()) == 0
    assert [one.state for one in app.workers(ended=True)] == ["stopped"] * 3


def test_drain_does_not_wait_for_ever(app: Lanework) -> None:
    @app.job("stuck", lane="a")
    async def stuck(ctx: Context) -> None:
        await asyncio.sleep(600)

    app.lanes.list()
    handle = stuck.submit()
    app.lanes.drain("a")
    with pytest.raises(TimeoutError):
        drain(app, timeout=1)
    assert handle.info().status == "approved"


def test_time_is_moved_only_where_the_name_says_test(nowhere: Lanework, pg: Any) -> None:
    with Lanework(pg.dsn_of("postgres"), connections=1) as real:
        with pytest.raises(ConfigError, match="not in postgres"):
            Clock(real).advance(hours=1)
        real._run(_drop())


def _drop() -> Any:
    from lanework._store.verb import Verb, nothing

    return Verb(b"drop schema lanework cascade", {}, nothing)
