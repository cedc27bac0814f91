"""No budget is exceeded, whatever happens to calls."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from kg._store import models as store
from kg.models.calling import calls_for
from kg.models.models import MARGIN_S
from lanework import Context
from lanework.errors import BudgetExceeded
from lanework.testing import Clock, adrain
from tests.kg.models.bench import Bench, ask
from tests.kg.provider import Fault, Provider


def test_no_budget_is_exceeded_whatever_happens(bench: Bench) -> None:
    """429s, 500s, connections that break after the answer was made and billed, and answers of no use, until the money ends."""
    bench.models = bench.make(model_concurrency=4, model_timeout=5.0, model_retries=50)
    bench.work.budgets.set("openai", Decimal("1.5"), per="total")
    bench.provider.fail(
        Fault("429", times=None, every=5, retry_after=0.01), Fault("reset", times=None, every=7), Fault("500", times=None, every=6),
        Fault("garbage", times=None, every=11), Fault("empty", times=None, every=9),
    )  # fmt: skip

    async def todo(ctx: Context) -> None:
        for _ in range(3):
            await asyncio.gather(ask(bench), ask(bench))

    jobs = bench.jobs(todo, 8)
    counts = bench.provider.counts()
    billed = Decimal(counts.tokens_in) / 1000 + Decimal(counts.tokens_out) * 2 / 1000
    budget = bench.work.budgets.get("openai")
    assert billed <= budget.spent <= Decimal("1.5")
    assert budget.reserved == 0
    assert "blocked_on" in str(jobs) or any(job.status == "queued" for job in jobs), "some wait for money"
    ((total,),) = bench.rows("select sum(cost) from kg.model_calls")
    assert float(billed) <= total + 1e-9
    assert {"throttled", "away", "ok"} <= bench.outcomes().keys()
    assert not [job for job in jobs if job.tries_used]
    bench.provider.fail()  # which call meets which fault is chance, and one that met too many of them in a row would give up
    bench.work.budgets.set("openai", 1000)
    bench.run(adrain(bench.work))
    assert {bench.work.get(job.id).status for job in jobs} == {"completed"}


def test_money_of_whoever_asks_without_a_job(bench: Bench) -> None:
    bench.work.budgets.set("owner:ann", Decimal("0.5"))

    async def todo() -> None:
        with calls_for(owner="ann"):
            await ask(bench)
        spent = bench.work.budgets.get("owner:ann").spent
        assert 0 < spent < Decimal("0.5")
        bench.work.budgets.set("owner:ann", spent)
        with calls_for(owner="ann"), pytest.raises(BudgetExceeded, match="owner:ann"):
            await ask(bench)
        await ask(bench)

    bench.run(todo())
    assert bench.rows("select owner, outcome from kg.model_calls order by id") == [("ann", "ok"), (None, "ok")]


def test_a_cancelled_job_may_have_paid(bench: Bench) -> None:
    bench.provider.fail("hang")
    bench.work.budgets.set("openai", 10)

    async def todo(ctx: Context) -> None:
        await ask(bench)

    bench.todo = todo
    handle = bench.does.submit()

    def cancel() -> None:
        bench.provider.wait(now=1)
        bench.work.cancel(handle.id)

    thread = threading.Thread(target=cancel)
    thread.start()
    bench.run(adrain(bench.work))
    thread.join()
    assert bench.work.get(handle.id).status == "cancelled"
    assert bench.outcomes() == {"cancelled": 1}
    assert [one.state for one in bench.work.budgets.reservations(job=handle.id)] == ["unknown"]
    assert bench.work.permits.get("openai").held == 0


LEFT = """
import asyncio, sys
from pathlib import Path
from tests.kg.models.bench import Bench, ask
from tests.kg.provider import Provider

bench = Bench(sys.argv[1], Provider(sys.argv[2]), Path(sys.argv[3]))
bench.run(ask(bench))
"""


def test_money_that_a_killed_process_had_reserved_is_settled(bench: Bench, provider: Provider) -> None:
    """No job has made the call, so no attempt ends with it: nobody but maintenance can know."""
    bench.work.budgets.set("day", 1000)
    bench.models.declare(bench.work)
    provider.fail("hang")
    left = subprocess.Popen([sys.executable, "-c", LEFT, bench.dsn, provider.url, str(bench.folder)], cwd=Path(__file__).parents[3])
    provider.wait(now=1)
    left.kill()
    left.wait()
    reserved = bench.work.budgets.get("day").reserved
    assert reserved > 0 and bench.work.budgets.get("day").spent == 0

    async def tended() -> Decimal:
        await bench.work._arun(store.settle_lost_calls(bench.models.limits.longest + MARGIN_S))
        return (await bench.work.budgets.aget("day")).reserved

    assert bench.run(tended()) == reserved  # it may be only slow
    clock = Clock(bench.work)
    clock.advance(seconds=bench.models.limits.longest + 2 * MARGIN_S)
    bench.run(maintained(bench))
    assert [one.amount for one in bench.work.budgets.reservations() if one.state == "unknown"] == [reserved]
    assert bench.work.budgets.get("day").spent >= reserved  # nobody knows whether it is on the bill: it counts


async def maintained(bench: Bench) -> None:
    async with bench.work.worker():
        await bench.work.maintenance.arun_now("lost_calls")
        while (await bench.work.budgets.aget("day")).reserved:
            await asyncio.sleep(0.02)
