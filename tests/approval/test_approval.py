"""Approval from the outside: submitted, estimated by a worker, approved, run."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from lanework import Above, Context, Estimate, Fail, JobCancelled, Lanework, Snooze, testing
from lanework.approvals import ApprovalRule
from lanework.errors import (
    ApprovalOutdated,
    InvalidApproval,
    InvalidJob,
    JobNotFound,
    NotEditable,
    NothingToApprove,
    SecondPersonNeeded,
)
from tests.approval.shop import Shop


def test_estimated_approved_run(shop: Shop) -> None:
    job = shop.digest.options(owner="ada").submit("a", words=10)
    assert job.info().status == "pending"
    testing.drain(shop.app)
    waits = job.info()
    assert waits.status == "awaiting_approval" and shop.did == ["fetch a"]
    assert waits.estimate == Estimate(low=1, high=10, tokens=1000, seconds=3, warnings=["long"])
    assert waits.approval_request is not None and waits.approval_request.why == "up to 10 USD is over 5.0 USD"
    assert waits.approval_request.expires_at - waits.approval_request.since == timedelta(days=1)
    assert shop.app.approve(job.id, hash=waits.hash, limit=8, by="boss") == "approved"
    testing.drain(shop.app)
    assert shop.did == ["fetch a", "run a"], "what the estimate has paid for is not paid for again"
    done = job.info()
    assert (done.status, done.result, done.hash) == ("completed", "page of a", waits.hash)
    assert done.approval is not None and (done.approval.by, done.approval.limit, done.approval.hash) == ("boss", 8, waits.hash)
    assert done.actual is not None and done.estimate == waits.estimate
    assert (done.actual.cost, done.actual.tokens, done.actual.items) == (5.25, 1000, 1)
    assert 0 < done.actual.seconds < 60


def test_what_costs_little_goes_on_by_itself(shop: Shop) -> None:
    cheap, dear = shop.digest.submit_many([("cheap", 5), ("dear", 6)])
    testing.drain(shop.app)
    assert (cheap.info().status, dear.info().status) == ("completed", "awaiting_approval")
    assert [job.id for job in shop.app.list(status="awaiting_approval")] == [dear.id]


def test_draining_one_lane_estimates_too(shop: Shop) -> None:
    job = shop.digest.submit("a")
    testing.drain(shop.app, "default")
    assert job.info().status == "completed"


def test_approve_what_you_saw(shop: Shop) -> None:
    job = shop.digest.submit("a", words=10)
    with pytest.raises(NothingToApprove, match="being estimated"):
        shop.app.approve(job.id)
    testing.drain(shop.app)
    seen = job.info().hash
    assert shop.app.edit(job.id, {"url": "b", "words": 20}, by="eve") == "pending"
    testing.drain(shop.app)
    with pytest.raises(ApprovalOutdated, match="look at it again"):
        shop.app.approve(job.id, hash=seen, by="boss")
    with pytest.raises(InvalidApproval, match="below the least") as caught:
        shop.app.approve(job.id, limit=0.5)
    assert caught.value.field == "limit"
    with pytest.raises(ApprovalOutdated):
        shop.app.approve(job.id, hash="")
    assert testing.approve(shop.app) == [job.id]
    testing.drain(shop.app)
    assert job.result(1) == "page of b" and shop.did == ["fetch a", "fetch b", "run b"]


def test_an_edit_is_checked_by_the_handler(shop: Shop) -> None:
    job = shop.digest.submit("a")
    with pytest.raises(InvalidJob) as caught:
        shop.app.edit(job.id, {"url": "a", "words": "many"})
    assert caught.value.field == "words" and job.info().payload == {"url": "a"}
    testing.drain(shop.app)
    with pytest.raises(NotEditable):
        shop.app.edit(job.id, {"url": "b"})
    with pytest.raises(JobNotFound):
        shop.app.edit(10**9, {"url": "b"})


def test_reject(shop: Shop) -> None:
    job = shop.digest.submit("a", words=10)
    testing.drain(shop.app)
    with pytest.raises(InvalidApproval) as caught:
        shop.app.reject(job.id, "")
    assert caught.value.field == "reason"
    assert shop.app.reject(job.id, "too dear", by="boss") == "cancelled"
    with pytest.raises(JobCancelled, match="too dear"):
        job.result(1)


def test_twins(shop: Shop) -> None:
    async def all_of_it() -> None:
        app = shop.app
        job, other = await shop.digest.asubmit("a", words=10), await shop.digest.asubmit("b", words=10)
        await testing.adrain(app)
        assert await app.aedit(job.id, {"url": "c", "words": 11}, by="x") == "pending"
        await testing.adrain(app)
        assert await app.aapprove(job.id, by="x") == "approved"
        assert await app.areject(other.id, "no", by="x") == "cancelled"
        await app.approvals.aset_rule("always", owner="ada")
        assert len(await app.approvals.arules()) == 2
        assert await app.approvals.aremove_rule(owner="ada")
        await app.aclose()

    asyncio.run(all_of_it())


def test_operators_rules_come_first_and_code_does_not_overwrite_them(shop: Shop, database: str) -> None:
    app = shop.app
    app.approvals.set_rule("never", type="digest", by="boss")
    app.approvals.set_rule(Above(1.0, "EUR"), owner="eve", four_eyes=True, by="boss")
    dear = shop.digest.submit("a", words=50)
    testing.drain(app)
    assert dear.info().status == "completed"
    with Shop(database).app as again:
        rules = again.approvals.rules()
    assert [(rule.type, rule.owner, rule.policy, rule.four_eyes, rule.set_by) for rule in rules] == [
        ("*", "eve", Above(1.0, "EUR"), True, "boss"),
        ("digest", "*", "never", None, "boss"),
        ("digest", "*", Above(5.0), False, "code"),
    ]
    assert isinstance(rules[0], ApprovalRule)
    with pytest.raises(InvalidApproval, match="no job type"):
        app.approvals.set_rule("always", type="digets")
    with pytest.raises(InvalidApproval, match="policy"):
        app.approvals.set_rule("sometimes")  # type: ignore[arg-type]


def test_expiry_is_a_setting_and_the_types_own(database: str) -> None:
    with Lanework(database, allow_unsafe=True, approval_expiry=60) as app:

        @app.job(approval="always")
        def one(ctx: Context) -> None: ...

        @app.job(approval="always", approval_expiry=timedelta(hours=1), four_eyes=True)
        def other(ctx: Context) -> None: ...

        waits = [job.submit().info().approval_request for job in (one, other)]
        assert [(it.expires_at - it.since).total_seconds() for it in waits if it] == [60, 3600]
        with pytest.raises(SecondPersonNeeded, match="does not say whose"):
            testing.approve(app)


def test_an_estimator_that_fails_or_is_wrong(database: str) -> None:
    with Lanework(database, allow_unsafe=True) as app:
        outcomes: dict[str, Any] = {
            "raises": ValueError("no price list"), "fails": Fail("no model"), "wrong": {"high": 3}, "bad": None,
        }  # fmt: skip

        @app.job
        def work(ctx: Context, how: str) -> None: ...

        @work.estimator(max_tries=1, timeout=5)
        async def guess(ctx: Context, how: str) -> Estimate:
            outcome = outcomes[how]
            if isinstance(outcome, Exception):
                raise outcome
            return Estimate(low=3, high=2) if how == "bad" else outcome

        jobs = {how: work.submit(how) for how in outcomes}
        testing.drain(app)
        said = {"raises": "no price list", "fails": "no model", "wrong": "returns an Estimate", "bad": "at most"}
        for how, words in said.items():
            info = jobs[how].info()
            assert info.status == "awaiting_approval" and info.estimate is not None and info.estimate.failed
            assert words in info.estimate.warnings[0]


def test_a_drain_waits_for_an_estimate_that_was_not_taken_yet(database: str) -> None:
    """Somebody held the job's row when its estimate ended: the sweep takes it. Seen red: it was `pending` after the drain."""
    with Lanework(database, allow_unsafe=True, sweep=0.2) as app, psycopg.connect(database) as holder:

        @app.job(approval="always")
        def work(ctx: Context) -> None: ...

        @work.estimator(max_tries=1, timeout=5)
        async def guess(ctx: Context) -> Estimate:
            holder.execute("select from lanework.jobs where id = %s for update", [job.id])
            threading.Timer(0.5, holder.rollback).start()
            return Estimate(low=1.0)

        job = work.submit()
        testing.drain(app)
        assert job.info().status == "awaiting_approval"


def test_an_estimator_may_snooze(database: str) -> None:
    with Lanework(database, allow_unsafe=True) as app:
        times: list[int] = []

        @app.job
        def work(ctx: Context) -> None: ...

        @work.estimator
        def guess(ctx: Context) -> Estimate | Snooze:
            times.append(ctx.attempt)
            return Snooze(60) if ctx.attempt == 1 else Estimate(high=1)

        job = work.submit()
        testing.drain(app)
        assert job.info().status == "pending"
        testing.Clock(app).advance(minutes=2)
        with psycopg.connect(database, autocommit=True) as db:
            db.execute("select * from lanework.promote()")
        testing.drain(app)
        assert job.info().status == "completed" and times == [1, 2]


def test_old_payloads_are_upgraded_for_the_estimate(database: str) -> None:
    seen: list[int] = []
    with Lanework(database, allow_unsafe=True) as app:

        @app.job(version=2)
        def work(ctx: Context, n: int) -> int:
            return n

        @work.estimator
        def guess(ctx: Context, n: int) -> Estimate:
            seen.append(n)
            return Estimate(low=n)

        @work.upgrade(from_version=1)
        def older(payload: dict[str, Any]) -> dict[str, Any]:
            return {"n": int(payload["number"])}

        app.lanes.list()
        with psycopg.connect(database, autocommit=True) as db:
            db.execute("select lanework.enqueue('work', '{\"number\": \"7\"}', version => 1)")
        testing.drain(app)
        (done,) = app.list(type="work")
        assert (done.result, seen) == (7, [7]) and done.estimate is not None and done.estimate.high == 7
