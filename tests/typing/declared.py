"""Jobs in every form that `@app.job` takes, for the type checkers. Nothing here runs."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

from lanework.approvals import Above
from lanework.context import Context
from lanework.estimates import Estimate
from lanework.job import Declares, Handle, Job
from lanework.outcomes import Cancel, Done, Fail, Outcome, Snooze


def declare(app: Declares) -> None:
    @app.job
    async def bare(ctx: Context, url: str, words: int = 200) -> dict[str, int] | Snooze:
        return {}

    @app.job()
    def empty(ctx: Context, n: int) -> int:
        return n

    @app.job("named", lane="night", executor="process", timeout=timedelta(minutes=1), memory_limit=1 << 30)
    def named(ctx: Context, *, n: int) -> str | Cancel | Fail | Done:
        return ""

    @app.job("nothing", executor="thread", max_tries=5)
    async def nothing(ctx: Context) -> None: ...

    @app.job
    def outcome(ctx: Context, flag: bool) -> Outcome | list[str]:
        return Snooze(1)

    assert_type(bare.submit("x", words=3), Handle[dict[str, int]])
    assert_type(bare.submit_many([("x",), {"url": "x"}]), list[Handle[dict[str, int]]])
    assert_type(empty.submit(1).result(timeout=5), int)
    assert_type(named.options(priority=1, tags=["a"]).options(owner="o").submit(n=1), Handle[str])
    assert_type(nothing.submit(), Handle[None])
    assert_type(outcome.submit(flag=True), Handle[list[str]])
    wider: Job[[int], object] = empty  # a job that gives an int is one that gives an object
    wider.submit(1)

    @bare.upgrade(from_version=1)
    def upgrade(payload: dict[str, object]) -> dict[str, object]:
        return payload

    @app.job(approval=Above(5.0), four_eyes=True, approval_expiry=timedelta(hours=1))
    def dear(ctx: Context, url: str, words: int = 200) -> int:
        return 1

    @dear.estimator
    def cost(ctx: Context, url: str, words: int = 200) -> Estimate | Snooze:
        return Estimate(low=1, high=2)

    @bare.estimator(timeout=60, executor="async")
    async def bare_cost(ctx: Context, url: str, words: int = 200) -> Estimate:
        return Estimate()

    assert_type(cost(Context.__new__(Context), "x"), Estimate | Snooze)

    async def twins() -> None:
        assert_type(await bare.asubmit("x"), Handle[dict[str, int]])
        assert_type(await bare.options(max_age=60).asubmit("x", 1), Handle[dict[str, int]])
        assert_type(await (await empty.asubmit(1)).aresult(), int)
