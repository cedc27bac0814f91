"""Budgets from the outside: what a job reserves and settles, wherever it runs, and what happens when there is not enough."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lanework import Lanework
from lanework.errors import BudgetNotFound, InvalidBudget
from lanework.testing import RecordingContext
from tests.limits import code
from tests.limits.conftest import House


@pytest.mark.parametrize(("how", "actual", "state", "spent"), [
    ("settle", 0.25, "settled", "0.25"), ("release", None, "released", "0"), ("nothing", None, "unknown", "1"),
])  # fmt: skip
def test_reserve_and_settle(house: House, how: str, actual: float | None, state: str, spent: str) -> None:
    house.app.budgets.set("openai", 10, per="day", by="ann")
    job = house.submit("spends", 1.0, actual, how)
    assert house.end(job).status == "completed"
    info = house.app.budgets.get("openai")
    assert [info.spent, info.reserved, info.left] == [Decimal(spent), Decimal(0), 10 - Decimal(spent)]
    found = house.app.budgets.reservations(job=job.id)
    assert [(one.state, one.amount, one.what, one.budgets) for one in found] == [(state, Decimal(1), "openai", ("openai",))]


def test_a_call_that_raises_may_have_been_made(house: House) -> None:
    house.app.budgets.set("openai", 10)
    assert house.end(house.submit("spends", 4.0, None, "raise")).status == "failed"
    assert house.app.budgets.get("openai").spent == 4


def test_from_a_child_and_from_the_loop(house: House) -> None:
    house.app.budgets.set("openai", 10)
    assert house.end(house.submit("spends_in_child", 1.0, 0.5)).status == "completed"
    assert house.end(house.submit("spends_async", 1.0, 0.5)).result == "paid"
    assert house.app.budgets.get("openai").spent == 1
    assert house.end(house.submit("spends_async", 9.5, 0.5)).result == "openai"


@pytest.mark.parametrize("kind", ["spends", "spends_in_child"])
def test_a_job_without_money_waits_for_it(house: House, kind: str) -> None:
    house.app.budgets.set("owner:ann", 1)
    job = house.submit(kind, 5.0, 1.0, owner="ann")
    other = house.submit(kind, 5.0, 1.0, owner="bob")
    house.until(lambda: house.blocked_on(job) == "budget:owner:ann")
    assert house.end(other).status == "completed"
    assert house.app.budgets.get("owner:ann").waiting == 1
    assert code.said() in ([], [f"paid {other.id}"])
    house.app.budgets.set("owner:ann", 5, by="boss")
    ended = house.end(job)
    assert (ended.status, ended.tries_used) == ("completed", 0)
    assert house.app.attempts(job.id)[0].error_class == "budget"
    assert house.app.budgets.get("owner:ann").spent == 1


def test_a_jobs_own_budget(house: House) -> None:
    first = house.submit("spends", 1.0, 1.0, "settle", "a")
    house.until(lambda: len(code.said()) == 1)
    house.app.budgets.set("day", 100, per="day")
    house.open("a")
    house.end(first)
    assert house.app.budgets.get("day").spent == 0, "it came after the reservation"


def test_bounds_and_names(app: Lanework) -> None:
    for wrong in (-1, "much", float("nan"), float("inf"), True):
        with pytest.raises(InvalidBudget, match=r"^amount:"):
            app.budgets.set("b", wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidBudget, match=r"^per:"):
        app.budgets.set("b", 1, per="week")  # type: ignore[arg-type]
    app.budgets.set("b", 1, per="day")
    assert app.budgets.set("b", 2).changed == {"amount": (1, 2)}
    assert [(one.name, one.per) for one in app.budgets.list()] == [("b", "day")]
    app.budgets.remove("b", by="ann")
    with pytest.raises(BudgetNotFound):
        app.budgets.remove("b")
    with pytest.raises(BudgetNotFound):
        app.budgets.get("b")
    context = RecordingContext.make()
    with pytest.raises(InvalidBudget, match="upper bound"):
        context.reserve()
    assert context.reserve(tokens=1000, price="0.001").amount == 1  # type: ignore[arg-type]
    assert context.record.reserved == ["1.000000"]
    assert context.reserve(0.1 + 0.2).amount == Decimal("0.3")
    assert context.reserve(Decimal("0.0000001")).amount == Decimal("0.000001")
