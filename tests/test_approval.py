"""Approval from the outside: declared in Python, submitted, estimated by a worker, approved, run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from lanework import Above, Context, Estimate, Fail, JobCancelled, Lanework, Snooze, testing
from lanework.approvals import ApprovalRule
from lanework.cli import main
from lanework.errors import (
    ApprovalOutdated,
    ConfigError,
    InvalidApproval,
    InvalidJob,
    InvalidResult,
    JobNotFound,
    NotEditable,
    NothingToApprove,
    SecondPersonNeeded,
)
from lanework.job import Job


class Shop:
    """An application with an expensive job; what its bodies did is in `did`."""

    def __init__(self, dsn: str, **settings: Any) -> None:
        self.app = app = Lanework(dsn, allow_unsafe=True, **settings)
        self.did: list[str] = []

        def fetch(url: str) -> str:
            self.did.append(f"fetch {url}")
            return f"page of {url}"

        @app.job(approval=Above(5.0))
        def digest(ctx: Context, url: str, words: int = 2) -> str:
            page = ctx.step("fetch", fetch, url)
            self.did.append(f"run {url}")
            ctx.spent(words * 0.5, tokens=100 * words, items=1)
            return page

        @digest.estimator
        def digest_cost(ctx: Context, url: str, words: int = 2) -> Estimate:
            ctx.step("fetch", fetch, url)
            ctx.spent(0.25)
            return Estimate(low=1, high=words, tokens=100 * words, seconds=3, warnings=["long"] if words > 9 else [])

        self.digest = digest


@pytest.fixture
def shop(database: str) -> Iterator[Shop]:
    shop = Shop(database)
    with shop.app:
        yield shop


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


# -- declarations -------------------------------------------------------------------------------------------------------


def declared() -> Job[..., Any]:
    app = Lanework("postgresql://nowhere")

    @app.job
    def work(ctx: Context, url: str, words: int = 3) -> None: ...

    return work


def test_an_estimator_takes_the_same_arguments() -> None:
    def other(ctx: Context, adress: str) -> Estimate:
        return Estimate()

    def wants_more(ctx: Context, url: str, words: int, colour: str) -> Estimate:
        return Estimate()

    for wrong in (other, wants_more):
        with pytest.raises(ConfigError, match=r"takes the same arguments \(url, words\)"):
            declared().estimator(wrong)

    def anything(ctx: Context, **arguments: Any) -> Estimate:
        return Estimate()

    work = declared()
    work.estimator(anything)
    with pytest.raises(ConfigError, match="two estimators"):
        work.estimator(anything)


@pytest.mark.parametrize("options", [{"approval": "sometimes"}, {"approval": 5.0}, {"four_eyes": 1}, {"approval_expiry": 0}])
def test_declarations_that_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        Lanework("postgresql://nowhere").job(**options)(lambda ctx: None)


@pytest.mark.parametrize("wrong", [{"low": -1}, {"high": float("nan")}, {"tokens": True}, {"low": 3, "high": 2}, {"seconds": 1e13}])
def test_estimates_that_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidResult):
        Estimate(**wrong)
    with pytest.raises(ConfigError):
        Above(-1)


# -- testing ------------------------------------------------------------------------------------------------------------


def test_an_estimate_inline() -> None:
    app = Lanework("postgresql://nowhere")
    paid: list[str] = []

    def fetch(url: str) -> str:
        paid.append(url)
        return "page"

    @app.job
    def work(ctx: Context, url: str) -> str:
        ctx.spent(2.0, key="call")
        ctx.spent(2.0, key="call")
        return ctx.step("fetch", fetch, url)

    with pytest.raises(ConfigError, match="no estimator"):
        testing.estimate(work, "a")

    @work.estimator
    def cost(ctx: Context, url: str) -> Estimate:
        ctx.step("fetch", fetch, url)
        return Estimate(high=3)

    ctx = testing.RecordingContext.make()
    assert testing.estimate(work, "a", ctx=ctx) == Estimate(high=3)
    ctx = ctx.next_attempt()
    assert testing.run(work, "a", ctx=ctx) == "page"
    assert paid == ["a"] and ctx.cost == 2.0


# -- the command line ---------------------------------------------------------------------------------------------------


@contextmanager
def output(capsys: pytest.CaptureFixture[str]) -> Iterator[list[str]]:
    found: list[str] = []
    capsys.readouterr()
    yield found
    found += capsys.readouterr()


def cli(capsys: pytest.CaptureFixture[str], dsn: str, *words: object) -> tuple[int, str, str]:
    with output(capsys) as found:
        code = main(["--dsn", dsn, *map(str, words)])
    return code, found[0], found[1]


def test_the_command_line(shop: Shop, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = shop.digest.options(owner="ada").submit_many([(f"u{n}", 10) for n in range(4)])
    one, two, three, four = (job.id for job in jobs)
    _, out, _ = cli(capsys, database, "jobs", "list", "--status", "pending")
    assert out.count("its cost is being estimated") == 4
    testing.drain(shop.app)
    _, out, _ = cli(capsys, database, "jobs", "list", "--status", "awaiting_approval")
    assert out.count("1.00–10.00 USD; up to 10 USD is over 5.0 USD") == 4
    _, out, _ = cli(capsys, database, "jobs", "show", one)
    for words in ("1.00 to 10.00 USD, 1,000 tokens, 3 s", "long", jobs[0].info().hash, "an approval, until"):
        assert words in out

    code, out, err = cli(capsys, database, "jobs", "approve", one, "--dry-run")
    assert code == 0 and jobs[0].info().hash in out and "1 job would be approved, up to 10.00 USD; nothing was done" in err
    code, _, err = cli(capsys, database, "jobs", "approve", one, "--hash", "0" * 32)
    assert code == 1 and "LW-520" in err
    code, _, err = cli(capsys, database, "jobs", "approve", one, "--limit", "0.5")
    assert code == 2 and "LW-523" in err
    code, _, err = cli(capsys, database, "jobs", "approve", one, two, "--hash", "0" * 32)
    assert code == 2 and "one job" in err
    code, out, _ = cli(capsys, database, "jobs", "approve", one, "--hash", jobs[0].info().hash, "--limit", "9.5", "-o", "json")
    assert (code, json.loads(out)) == (0, [{"id": one, "answer": "approved"}])
    code, out, err = cli(capsys, database, "jobs", "approve", one, two)
    assert code == 1 and "LW-521" in out and "1 of 2 done" in err

    code, _, err = cli(capsys, database, "jobs", "approve")
    assert code == 2 and "say which jobs" in err
    code, _, err = cli(capsys, database, "jobs", "approve", "--owner", "ada")
    assert code == 2 and "2 jobs would be approved; without a terminal" in err
    code, out, err = cli(capsys, database, "jobs", "approve", "--owner", "ada", "--dry-run", "-o", "ids")
    assert out.split() == [str(four), str(three)] and "2 jobs would be approved, up to 20.00 USD" in err
    code, _, _ = cli(capsys, database, "jobs", "reject", three, "--reason", "")
    assert code == 2
    code, _, err = cli(capsys, database, "jobs", "reject", "--type", "digest", "--reason", "closed", "--yes")
    assert code == 0 and "2 jobs rejected" in err
    assert shop.app.get(three).error == "closed"
    testing.drain(shop.app)
    _, out, _ = cli(capsys, database, "jobs", "show", one)
    assert "by cli:" in out and "up to 9.50" in out and "5.25 USD, 1,000 tokens, 1 items" in out
    with psycopg.connect(database) as db:
        acts = [row[0] for row in db.execute("select act from lanework.audit_log order by id")]
    assert acts == ["job.approve"] * 2 + ["operation.start"], "one row for each act that was done"


def test_many_are_approved_by_an_operation(shop: Shop, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What has waited since before it was asked for; what came or was edited later waits on."""
    ids = [job.id for job in shop.digest.options(owner="ada").submit_many([(f"u{n}", 10) for n in range(3)])]
    testing.drain(shop.app)
    with psycopg.connect(database, autocommit=True) as db:
        [(seen,)] = db.execute("select lanework.now()").fetchall()
    shop.app.edit(ids[2], {"url": "other", "words": 10}, by="eve")
    testing.drain(shop.app)
    preview = shop.app.approve_many(owner="ada", dry_run=True)
    assert (preview.id, preview.state, preview.matched) == (0, "dry run", 3)
    done = shop.app.approve_many(owner="ada", seen_at=seen, limit=9.5, by="boss")
    assert (done.kind, done.state, done.done, done.skipped) == ("approve", "done", 2, 1)
    approval = shop.app.get(ids[0]).approval
    assert approval is not None and (approval.by, float(approval.limit or 0)) == ("boss", 9.5)
    assert shop.app.get(ids[2]).status == "awaiting_approval"
    code, out, err = cli(capsys, database, "jobs", "approve", "--owner", "ada", "--yes", "-o", "json")
    assert code == 0 and "1 job approved" in err
    assert [(one["kind"], one["state"], one["done"]) for one in json.loads(out)] == [("approve", "done", 1)]
    assert shop.app.get(ids[2]).approval is not None
    with pytest.raises(InvalidJob):
        shop.app.approve_many(owner="ada", seen_at="now")  # type: ignore[arg-type]


def test_verify_notices(shop: Shop, database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanework.cli.commands.verify.SECOND_LOOK", 0.0)
    one, two, three = (shop.digest.submit(url, words=10).id for url in "abc")
    testing.drain(shop.app)
    testing.approve(shop.app, three)
    assert cli(capsys, database, "verify")[0] == 0
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("delete from lanework.approval_requests where job_id = %s", (one,))
        db.execute("update lanework.jobs set status = 'pending' where id = %s", (two,))
        db.execute("update lanework.jobs set payload = '{}' where id = %s", (three,))
    code, out, _ = cli(capsys, database, "verify")
    assert code == 1
    for words in ("no moment at which that ends", "nobody estimates it", "for another payload"):
        assert words in out


def test_rules_on_the_command_line(shop: Shop, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    shop.app.lanes.list()
    assert cli(capsys, database, "approvals", "set", "12.50", "--type", "digest", "--currency", "EUR", "--four-eyes")[0] == 0
    assert cli(capsys, database, "approvals", "set", "always", "--owner", "eve")[0] == 0
    with pytest.raises(SystemExit, match="2"):
        cli(capsys, database, "approvals", "set", "sometimes")
    assert cli(capsys, database, "approvals", "set", "always", "--type", "digets")[0] == 2
    _, out, _ = cli(capsys, database, "approvals", "rules")
    assert "above 12.5 EUR" in out and "eve" in out and "code" in out
    assert cli(capsys, database, "approvals", "remove", "--owner", "eve")[0] == 0
    assert cli(capsys, database, "approvals", "remove", "--owner", "eve")[0] == 1
    rows = json.loads(cli(capsys, database, "approvals", "rules", "-o", "json")[1])
    assert [(row["type"], row["policy"]) for row in rows] == [
        ("digest", {"amount": 12.5, "currency": "EUR"}), ("digest", {"amount": 5.0, "currency": "USD"})]  # fmt: skip
