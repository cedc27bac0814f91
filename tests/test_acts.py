"""What operators do, through the application: every verb and its async twin."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lanework import Context, Lanework, LaneworkError, errors
from lanework._acts import Acts
from lanework.freezes import Freezes
from lanework.operations import Operations, job_filter


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database, notify=False) as app:

        @app.job(lane="quick")
        def double(ctx: Context, n: int) -> int:
            return 2 * n

        yield app


def submit(app: Lanework, count: int = 1, **options: Any) -> list[int]:
    from lanework.job import Submitter

    job: Submitter[..., Any] = Submitter(app, app.handlers["double"]).options(**options)
    return [one.id for one in job.submit_many([(n,) for n in range(count)])]


def do(app: Lanework, twin: bool, verb: Any, *args: Any, **options: Any) -> Any:
    """The verb itself, or its async twin."""
    if not twin:
        return verb(*args, **options)
    name = {"wait": "await_"}.get(verb.__name__, f"a{verb.__name__}")
    return on_a_loop(app, getattr(verb.__self__, name)(*args, **options))


def on_a_loop(app: Lanework, work: Coroutine[Any, Any, Any]) -> Any:
    async def main() -> Any:
        try:
            return await work
        finally:
            await app._close_loop()

    return asyncio.run(main())


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def twin(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("noun", [Acts, Operations, Freezes])
def test_every_verb_has_its_twin(noun: type) -> None:
    names = {name for name, _ in inspect.getmembers(noun, inspect.isfunction) if not name.startswith("_")}
    verbs = {name for name in names if f"a{name}" in names} | {"wait"} & names
    assert names == verbs | {f"a{name}" for name in verbs - {"wait"}} | ({"await_"} & names)
    for name in verbs - {"wait"}:
        ours, theirs = (inspect.signature(getattr(noun, one)).parameters for one in (name, f"a{name}"))
        assert list(ours) == list(theirs), name


def test_cancel_many(app: Lanework, twin: bool) -> None:
    ids, others = submit(app, 1200, owner="ann"), submit(app, 3, owner="bob")
    planned = do(app, twin, app.cancel_many, owner="ann", dry_run=True)
    assert (planned.id, planned.state, planned.matched, planned.done) == (0, "dry run", 1200, 0)
    assert do(app, twin, app.operations.count, "cancel", {"ids": ids[:7]}) == 7
    done = do(app, twin, app.cancel_many, owner="ann", by="eve", reason="enough")
    assert (done.kind, done.state, done.matched, done.done, done.by, done.reason) == ("cancel", "done", 1200, 1200, "eve", "enough")
    assert {job.id for job in app.list(status="approved")} == set(others)
    assert do(app, twin, app.operations.get, done.id) == done
    assert do(app, twin, app.operations.list, state="done") == [done]
    assert do(app, twin, app.operations.stop, done.id, by="eve") == done
    assert app.cancel(ids[0]) == "cancelled" == app.get(ids[0]).status


def test_an_act_that_is_begun_and_stopped(app: Lanework, twin: bool) -> None:
    submit(app, 2500)
    begun = do(app, twin, app.operations.start, "cancel", {"type": "double"}, by="eve")
    assert (begun.state, begun.done, begun.matched) == ("running", 1000, 2500)
    with pytest.raises(errors.JobNotFinished):
        do(app, twin, app.operations.wait, begun.id, timeout=0)
    stopped = do(app, twin, app.operations.stop, begun.id, by="eve")
    assert (stopped.state, stopped.done) == ("stopped", 2000)
    assert do(app, twin, app.operations.wait, begun.id).state == "stopped"
    with pytest.raises(errors.OperationNotFound):
        do(app, twin, app.operations.get, 999_999)


def test_priorities(app: Lanework, twin: bool) -> None:
    first, second = submit(app, 2)
    assert do(app, twin, app.set_priority, second, 9, by="eve") == 0
    assert app.get(second).priority == 9
    done = do(app, twin, app.set_priority_many, -3, lane="quick", by="eve")
    assert (done.done, app.get(first).priority, app.get(second).priority) == (2, -3, -3)
    assert do(app, twin, app.set_priority_many, 1, lane="quick", dry_run=True).matched == 2
    for job, priority, kind in ((10**9, 1, errors.JobNotFound), (first, 1001, errors.InvalidJob)):
        with pytest.raises(kind):
            do(app, twin, app.set_priority, job, priority)
    app.cancel(first)
    with pytest.raises(errors.JobNotWaiting, match="already cancelled"):
        do(app, twin, app.set_priority, first, 1)


@pytest.mark.parametrize(
    ("filter", "words"),
    [({"colour": "red"}, "colour"), ({}, "empty"), ({"status": "asleep"}, "asleep"),
     ({"created_after": datetime(2030, 1, 1)}, "time zone")],
)  # fmt: skip
def test_a_wrong_filter_is_refused(app: Lanework, filter: dict[str, Any], words: str) -> None:
    for act in (app.cancel_many, lambda **given: app.cancel_many(dry_run=True, **given)):
        with pytest.raises(errors.InvalidFilter, match=words) as caught:
            act(**filter)
        assert (caught.value.http_status, caught.value.exit_code) == (422, 2)
    assert app.audit_log() == []


def test_a_filter_as_the_database_takes_it() -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    given = job_filter(status="running", type=("a", "b"), ids=7, owner="x", tag=None, created_before=at)
    assert given == {"status": ["running"], "type": ["a", "b"], "ids": [7], "owner": "x", "created_before": at.isoformat()}


def test_drains(app: Lanework, twin: bool) -> None:
    app.lanes.list()
    assert do(app, twin, app.drain_all, by="eve", reason="upgrade") is True
    assert app.lanes.get("quick").held_by == ("everything is drained by eve",)
    assert do(app, twin, app.drain_all, by="eve") is False
    assert do(app, twin, app.resume_all, by="eve") is True
    assert app.lanes.get("quick").held_by == ()
    for verb in (app.drain_worker, app.resume_worker):
        with pytest.raises(errors.WorkerNotFound):
            do(app, twin, verb, 12345)


def test_freezes(app: Lanework, twin: bool) -> None:
    app.lanes.list()
    held = do(app, twin, app.freezes.start, ["quick", "default"], by="eve", reason="restore", expires=60)
    (found,) = do(app, twin, app.freezes.list)
    assert (found.id, found.lanes, found.by, found.job_id) == (held, ("default", "quick"), "eve", None)
    assert timedelta(seconds=59) < found.until - found.since < timedelta(seconds=61)
    assert app.lanes.get("quick").held_by == (f"freeze {held} by eve",)
    do(app, twin, app.freezes.wait, "quick", timeout=1)
    assert do(app, twin, app.freezes.end, held, by="eve") == ("default", "quick")
    with pytest.raises(errors.FreezeNotFound):
        do(app, twin, app.freezes.end, held)
    with pytest.raises(errors.LaneNotFound):
        do(app, twin, app.freezes.start, ["nowhere"])
    with pytest.raises(errors.InvalidFreeze):
        do(app, twin, app.freezes.start, ["quick"], expires=0)


def test_a_freeze_that_does_not_become_quiet_lets_go(app: Lanework) -> None:
    app.lanes.list()
    app._run(_used("quick", 1))
    with pytest.raises(errors.LanesBusy, match=r"quick \(1\)"), app.freeze(["quick"], timeout=0.1):
        raise AssertionError("not quiet")
    with pytest.raises(errors.LanesBusy):
        on_a_loop(app, _hold(app, timeout=0.1))
    assert app.freezes.list() == []
    app._run(_used("quick", 0))
    with app.freeze(["quick"], by="eve", timeout=5) as held:
        app.freezes.end(held, by="bob")  # somebody else ended it: the block ends in peace
    assert on_a_loop(app, _hold(app, timeout=5)) == ("freeze",)
    assert app.freezes.list() == []


async def _hold(app: Lanework, timeout: float) -> tuple[str, ...]:
    async with app.afreeze(["quick"], by="eve", timeout=timeout):
        return tuple(one.partition(" ")[0] for one in (await app.lanes.aget("quick")).held_by)


def _used(lane: str, used: int) -> Any:
    from lanework._store.verb import Verb, nothing

    sql = b"""insert into lanework.lane_use (lane_id, worker_id, used)
              select id, 0, %(used)s from lanework.lanes where name = %(lane)s
              on conflict (lane_id, worker_id) do update set used = excluded.used"""
    return Verb(sql, {"lane": lane, "used": used}, nothing)


def test_the_audit_log(app: Lanework, twin: bool) -> None:
    first, second = submit(app, 2)
    app.cancel(first, by="ann", reason="enough")
    app.set_priority(second, 3, by="bob")
    app.lanes.drain("quick", by="ann")
    log = do(app, twin, app.audit_log)
    assert [(one.actor, one.act) for one in log] == [("ann", "lane.set"), ("bob", "job.priority"), ("ann", "job.cancel")]
    assert [one.target for one in log] == ["lane:quick", f"job:{second}", f"job:{first}"]
    assert log[2].before == {"status": "approved"}
    assert log[2].after == {"status": "cancelled", "reason": "enough", "children": True}
    assert [one.act for one in do(app, twin, app.audit_log, act="job")] == ["job.priority", "job.cancel"]
    assert do(app, twin, app.audit_log, before=log[0].id, limit=1) == [log[1]]
    assert do(app, twin, app.audit_log, actor="ann", target=f"job:{first}", since=log[2].at - timedelta(seconds=1)) == [log[2]]
    assert do(app, twin, app.audit_log, since=datetime.now(UTC) + timedelta(hours=1)) == []
    with pytest.raises(LaneworkError, match="limit"):
        do(app, twin, app.audit_log, limit=0)
