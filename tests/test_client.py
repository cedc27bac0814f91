"""`Lanework` as a client, against real PostgreSQL: reading, waiting, cancelling, hints, and its own life."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from lanework import (
    Context,
    DatabaseUnavailable,
    InvalidJob,
    Job,
    JobCancelled,
    JobFailed,
    JobNotFinished,
    JobNotFound,
    Lanework,
)
from lanework.errors import SchemaError
from lanework.testing import Clock, drain


@pytest.fixture
def echo(app: Lanework) -> Job[[Any], Any]:
    @app.job("echo")
    def echo(ctx: Context, value: Any) -> Any:
        if value == "bad":
            raise ValueError("a bad value")
        return value

    return echo


# -- reading ---------------------------------------------------------------------------------------------------------------


def test_pages_by_key_see_every_job_once_while_others_come_and_go(app: Lanework, echo: Job[[Any], Any]) -> None:
    ids = [handle.id for handle in echo.submit_many([(n,) for n in range(25)])]
    seen: list[int] = []
    before = None
    while page := app.list(limit=10, before=before):
        seen += [info.id for info in page]
        before = page[-1].id
        echo.submit("new")  # an offset would now show a job twice
    assert seen == sorted(ids, reverse=True)


def test_filters(app: Lanework, echo: Job[[Any], Any]) -> None:
    @app.job("other", lane="side", max_tries=1)
    def other(ctx: Context) -> None:
        raise ValueError

    done = echo.options(owner="ada", tags=["a", "b"]).submit(1)
    failed = other.submit()
    drain(app)
    late = echo.options(owner="bob", tags=["b"], run_at=timedelta(hours=1)).submit(2)
    queued = echo.options(tags=["a"]).submit(3)
    since = app.get(failed.id).created_at

    def found(**filters: Any) -> set[int]:
        return {info.id for info in app.list(**filters)}

    assert found() == {done.id, failed.id, late.id, queued.id}
    assert found(status="completed") == {done.id}
    assert found(status=["scheduled", "failed"]) == {late.id, failed.id}
    assert found(type="other") == found(lane="side") == found(error_class="unknown") == {failed.id}
    assert found(type=["other", "echo"], lane=["default"]) == {done.id, late.id, queued.id}
    assert (found(owner="ada"), found(tag="a"), found(tag="b")) == ({done.id}, {done.id, queued.id}, {done.id, late.id})
    assert found(created_after=since) == {late.id, queued.id}
    assert found(owner="nobody") == set()
    for wrong in ({"status": "done"}, {"limit": 0}, {"limit": 1001}):
        with pytest.raises(InvalidJob) as caught:
            app.list(**wrong)
        assert caught.value.field in wrong


def test_twins_read_the_same(app: Lanework, echo: Job[[Any], Any]) -> None:
    @app.job("talk", max_tries=1)
    def talk(ctx: Context) -> None:
        print("said")
        raise ValueError("no")

    job_id = talk.submit().id
    drain(app)

    async def main() -> list[Any]:
        async with app:
            return [
                await app.aget(job_id), await app.alist(), await app.alogs(job_id), await app.aattempts(job_id),
                await app.aworkers(ended=True), await app.lanes.alist(), await app.lanes.aget("default"),
            ]  # fmt: skip

    found = asyncio.run(main())
    one, logs, attempts, workers = (
        app.get(job_id),
        app.logs(job_id),
        app.attempts(job_id),
        app.workers(ended=True),
    )
    assert found[:4] == [one, app.list(), logs, attempts]
    assert [worker.id for worker in found[4]] == [worker.id for worker in workers]
    assert found[5:] == [app.lanes.list(), app.lanes.get("default")]
    assert ([entry.text for entry in logs], attempts[0].error_class, one.error_code) == (["said"], "unknown", "LW-420")


def test_a_job_that_is_not_there(app: Lanework, echo: Job[[Any], Any]) -> None:
    for call in (app.get, app.cancel, lambda job_id: app._wait(job_id, 30)):
        with pytest.raises(JobNotFound, match="4711"):
            call(4711)
    assert (app.logs(4711), app.attempts(4711)) == ([], [])


# -- waiting and results -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["x", "1", 1.5, None, True, b"1"])
def test_what_is_no_number_of_a_job(app: Lanework, echo: Job[[Any], Any], wrong: Any) -> None:
    for ask in (app.get, app.cancel, app.logs, app.attempts, app.steps, app.item_errors, app.children):
        with pytest.raises(InvalidJob, match="job_id: expected the number of a job, got"):
            ask(wrong)
    with pytest.raises(InvalidJob, match="job_id"):
        asyncio.run(app.aget(wrong))


def test_a_number_that_no_job_can_have(app: Lanework, echo: Job[[Any], Any]) -> None:
    for number in (0, -1, 2**63, 2**70):
        with pytest.raises(JobNotFound, match=str(number)):
            app.get(number)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("before", 2**70), ("before", "7"), ("before", -1), ("limit", 0), ("limit", 10**9), ("limit", "10"), ("owner", 5),
        ("tag", ["a"]), ("error_class", 1), ("created_after", "yesterday"), ("status", "done"),
    ],
)  # fmt: skip
def test_filters_that_cannot_be(app: Lanework, echo: Job[[Any], Any], field: str, value: Any) -> None:
    with pytest.raises(InvalidJob, match=f"{field}: expected") as caught:
        app.list(**{field: value})
    assert caught.value.field == field


def test_pages_that_cannot_be(app: Lanework, echo: Job[[Any], Any]) -> None:
    for wrong in ({"after": 2**63}, {"after": "x"}, {"limit": 0}):
        with pytest.raises(InvalidJob, match=next(iter(wrong))):
            app.logs(1, **wrong)


def test_results_are_kept_and_read_as_often_as_wanted(app: Lanework, echo: Job[[Any], Any]) -> None:
    handle = echo.submit({"deep": [1, None, "ü"]})
    drain(app)
    Clock(app).advance(days=29)
    assert handle.result(timeout=5) == handle.result(timeout=5) == {"deep": [1, None, "ü"]}
    info = handle.wait()
    assert (info.status, info.finished, info.attempt, info.tries_used) == ("completed", True, 1, 0)


def test_a_wait_that_runs_out_of_time_leaves_the_job(app: Lanework, echo: Job[[Any], Any]) -> None:
    handle = echo.submit(1)
    with pytest.raises(JobNotFinished, match=r"within 0\.2 s; it goes on"):
        handle.wait(timeout=0.2)
    with pytest.raises(JobNotFinished):
        handle.result(timeout=0)
    assert handle.info().status == "approved"
    waiting = threading.Thread(target=lambda: results.append(handle.result(timeout=60)))
    results: list[Any] = []
    waiting.start()
    drain(app)
    waiting.join()
    assert results == [1]


def test_other_ends_raise(app: Lanework, echo: Job[[Any], Any]) -> None:
    failed, cancelled = echo.options(max_tries=1).submit("bad"), echo.submit(1)
    assert cancelled.cancel("not needed") == "cancelled"
    drain(app)
    with pytest.raises(JobFailed, match="ValueError: a bad value") as caught:
        failed.result(timeout=5)
    assert (caught.value.job_id, caught.value.error_class) == (failed.id, "unknown")
    with pytest.raises(JobCancelled, match="not needed"):
        cancelled.result(timeout=5)
    assert failed.wait(timeout=5).status == "failed"


def test_cancel_of_waiting_jobs_is_final_and_told_apart(app: Lanework, echo: Job[[Any], Any]) -> None:
    queued, late = echo.submit(1), echo.options(run_at=timedelta(hours=1)).submit(2)
    assert [app.cancel(queued.id, by="ada", reason="r"), late.cancel(), queued.cancel()] == ["cancelled"] * 3
    done = echo.submit(3)
    Clock(app).advance(hours=2)
    drain(app)
    assert (done.cancel(), app.get(done.id).status) == ("completed", "completed")
    assert [(app.get(h.id).status, app.get(h.id).attempt) for h in (queued, late)] == [("cancelled", 0)] * 2


# -- hints -------------------------------------------------------------------------------------------------------------------


@pytest.mark.direct("it listens")
def test_a_hint_cut_off_by_the_end_of_its_loop_does_not_silence_the_process(
    app: Lanework, echo: Job[[Any], Any], database: str
) -> None:
    # Red with `_sending` left set by a cancelled task: no later submit of this process sent a hint (it was so here).
    async def submit_and_leave() -> None:
        await echo.asubmit(1)
        await app._close_loop()

    asyncio.run(submit_and_leave())
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("listen lanework")
        echo.submit(2)
        assert [one.payload for one in db.notifies(timeout=30, stop_after=1)] == ["default"]


def test_a_caller_who_comes_while_somebody_sends_leaves_his_hint_to_him(app: Lanework, echo: Job[[Any], Any]) -> None:
    sent: list[str] = []
    started, go_on = threading.Event(), threading.Event()

    def slow_run(verb: Any) -> None:
        sent.append(verb.params["payload"])
        started.set()
        go_on.wait(90)

    app._run = slow_run  # type: ignore[method-assign, assignment]
    first = threading.Thread(target=app._hinter.send, args=["a"])
    first.start()
    assert started.wait(90)
    for lane in ("b", "b", "c"):
        app._hinter.send(lane)  # returns at once
    assert sent == ["a"]
    go_on.set()
    first.join()
    assert (sent[0], sorted(sent[1:])) == ("a", ["b", "c"])
    app._hinter.send("d")
    assert sent[-1] == "d"
    del app._run


def test_no_hints_when_they_are_off(database: str) -> None:
    with Lanework(database, notify=False) as app, psycopg.connect(database, autocommit=True) as db:

        @app.job("quiet")
        def quiet(ctx: Context) -> None: ...

        db.execute("listen lanework")
        quiet.submit()
        quiet.submit_many([()])
        db.execute("notify lanework, 'end'")
        assert [one.payload for one in db.notifies(timeout=30, stop_after=1)] == ["end"]


# -- its life ----------------------------------------------------------------------------------------------------------------


def test_nothing_is_connected_before_it_is_needed() -> None:
    app = Lanework("host=/nowhere/at/all dbname=x", connect_timeout=2)

    @app.job("echo")
    def echo(ctx: Context) -> None: ...

    assert "1 jobs" in repr(app)
    with pytest.raises(DatabaseUnavailable):
        echo.submit()
    health = app.health()
    assert (health["ok"], health["code"]) == (False, "LW-200")
    app.close()


def test_a_closed_application_opens_again(app: Lanework, echo: Job[[Any], Any], database: str) -> None:
    first = echo.submit(1)
    app.close()
    with psycopg.connect(database) as db:
        left = db.execute("select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
        assert left.fetchone() == (0,)
    assert echo.submit(2).id > first.id


@pytest.mark.direct("it ends the backends of its own connections")
def test_connections_are_bounded_and_one_that_broke_is_replaced(app: Lanework, echo: Job[[Any], Any], database: str) -> None:
    # Red without the look at an idle connection's socket before it is used: the submit would fail.
    threads = [threading.Thread(target=echo.submit, args=[n]) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mine = "from pg_stat_activity where datname = current_database() and application_name = 'lanework-client'"
    with psycopg.connect(database, autocommit=True) as db:
        (count,) = db.execute(f"select count(*) {mine}".encode()).fetchone() or (-1,)
        assert 1 <= count <= 4
        db.execute(f"select pg_terminate_backend(pid, 5000) {mine}".encode())
    assert echo.submit("after").info().status == "approved"
    assert len(app.list()) == 17


def test_an_old_schema_is_refused_when_told_to_check(empty_database: str) -> None:
    app = Lanework(empty_database, migrate="check")
    with pytest.raises(SchemaError, match="lanework migrate"):
        app.get(1)
    with Lanework(empty_database) as fresh:
        assert fresh.list() == []
    assert app.list() == []
    app.close()


def test_health_of_an_application_that_does_not_work(app: Lanework, echo: Job[[Any], Any]) -> None:
    app.list()
    health = app.health()
    assert (health["ok"], health["workers"], health["leader"], health["here"]) == (True, 0, None, [])
    assert health["database"]["version"] >= 150000
    assert health["database"]["durable"] is False  # the tests' shared server; production has it on
    echo.submit(1)
    health = app.health()
    assert (health["ok"], health["unserved_types"]) == (False, [{"type": "echo", "lane": "default"}])
