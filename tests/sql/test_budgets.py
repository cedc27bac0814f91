"""Budgets in SQL: reserved before, settled after; what is spent and reserved is never over the amount."""

from __future__ import annotations

import uuid
from decimal import Decimal

import psycopg
import pytest

from tests.sql.conftest import Another
from tests.sql.engine import Engine
from tests.sql.interleave import Beside
from tests.sql.proof import move


def budget(engine: Engine, name: str, amount: float, per: str = "total") -> None:
    engine.rows("select * from lanework.set_budget(%s, %s::numeric, %s, 'test')", name, amount, per)


def reserve(engine: Engine, amount: float, *names: str, id: uuid.UUID | None = None, **more: object) -> uuid.UUID | None:
    """The reservation, or None if it was refused."""
    id = id or uuid.uuid4()
    named = "".join(f", p_{name} => %s" for name in more)
    rows = engine.rows(
        f"select * from lanework.reserve(%s, %s::numeric, p_names => %s::text[]{named})", id, amount, list(names), *more.values()
    )
    return None if rows else id


def settle(engine: Engine, id: uuid.UUID | None, actual: float | None) -> str:
    return str(engine.one("select lanework.settle_reservation(%s, %s::numeric)", id, actual))


def release(engine: Engine, id: uuid.UUID | None) -> str:
    return str(engine.one("select lanework.release_reservation(%s)", id))


def left(engine: Engine, name: str) -> Decimal:
    return Decimal(engine.one("select lanework.budget_left(%s)", name))


def test_no_more_than_the_amount(engine: Engine) -> None:
    budget(engine, "b", 10)
    first = reserve(engine, 6, "b")
    assert first and reserve(engine, 5, "b") is None
    settle(engine, first, 2)
    assert left(engine, "b") == 8
    assert reserve(engine, 8, "b") and reserve(engine, 0.01, "b") is None


def test_reserves_wait_for_each_other(engine: Engine, another: Another) -> None:
    budget(engine, "b", 10)
    other = another()
    with engine.db.transaction():
        assert reserve(engine, 6, "b")
        answer = Beside(another(), other, lambda: reserve(other, 6, "b"))
        assert answer.blocked
    assert answer.result() is None


def test_all_budgets_that_apply_or_none(engine: Engine) -> None:
    budget(engine, "day", 100, "day")
    budget(engine, "owner:ann", 5, "day")
    budget(engine, "job:7", 3)
    assert reserve(engine, 4, job=7, owner="ann") is None
    assert left(engine, "owner:ann") == 5, "nothing was taken"
    assert reserve(engine, 3, job=7, owner="ann")
    assert reserve(engine, 3, job=8, owner="ann") is None
    assert reserve(engine, 2, job=8, owner="ann")
    assert [int(left(engine, name)) for name in ("day", "owner:ann", "job:7")] == [95, 0, 0]
    assert engine.rows("select * from lanework.job_budget(7)")[0]["reserved"] == 3


def test_a_named_budget_must_exist(engine: Engine) -> None:
    with pytest.raises(psycopg.Error) as missing:
        reserve(engine, 1, "nothing")
    assert missing.value.sqlstate == "LW552"


def test_settling_is_idempotent_and_goes_to_its_own_day(engine: Engine) -> None:
    budget(engine, "b", 10, "day")
    first, second = reserve(engine, 6, "b"), reserve(engine, 4, "b")
    move(engine, days=1)
    assert left(engine, "b") == 10, "a new day"
    assert [settle(engine, first, 5), settle(engine, first, 1), release(engine, first)] == ["settled"] * 3
    assert [release(engine, second), release(engine, second), settle(engine, second, 4)] == ["released"] * 3
    assert left(engine, "b") == 10
    spent = engine.rows("select spent, reserved from lanework.budget_spend")
    assert [(row["spent"], row["reserved"]) for row in spent] == [(5, 0)]


def test_a_lost_answer_is_asked_again(engine: Engine) -> None:
    budget(engine, "b", 10)
    id = uuid.uuid4()
    assert reserve(engine, 6, "b", id=id) == reserve(engine, 6, "b", id=id) == id
    assert left(engine, "b") == 4


def test_a_reservation_of_the_dead_counts_as_spent(engine: Engine) -> None:
    budget(engine, "b", 10)
    worker = engine.worker()
    lost, late = reserve(engine, 6, "b", worker=worker), reserve(engine, 4, "b", worker=worker)
    engine.rows("select lanework.sweep_limits()")
    assert engine.one("select count(*) from lanework.reservations where state = 'open'") == 2, "its owner lives"
    engine.rows("select * from lanework.end_worker(%s, 'dead', 'killed', false)", worker)
    engine.rows("select lanework.sweep_limits()")
    assert engine.rows("select distinct state from lanework.reservations") == [{"state": "unknown"}]
    assert left(engine, "b") == 0
    # the answer of a call that was made comes late, and is true
    assert settle(engine, late, 1) == "settled"
    assert left(engine, "b") == 3
    assert settle(engine, lost, None) == "unknown"
    assert left(engine, "b") == 3


def test_a_reservation_of_an_attempt_that_is_over_counts_as_spent(engine: Engine) -> None:
    budget(engine, "b", 10)
    kind, worker = engine.type("k"), engine.worker()
    engine.enqueue("k")
    claim = engine.claim(worker, engine.one("select id from lanework.lanes where name = 'default'"), kind)[0]
    assert reserve(engine, 6, "b", worker=worker, job=claim.id, attempt=claim.attempt)
    engine.rows("select lanework.sweep_limits()")
    assert engine.one("select state from lanework.reservations") == "open"
    engine.settle(worker, claim, action="retry")
    engine.rows("select lanework.sweep_limits()")
    assert engine.one("select state from lanework.reservations") == "unknown"


def test_jobs_that_wait_for_money_go_on_when_it_is_there(engine: Engine) -> None:
    budget(engine, "b", 1)
    kind, worker, lane = engine.type("k"), engine.worker(), engine.one("select id from lanework.lanes where name = 'default'")
    jobs = []
    for need in (5, 3, 4):
        engine.enqueue("k")
        claim = engine.claim(worker, lane, kind)[0]
        assert reserve(engine, need, "b", worker=worker, job=claim.id, attempt=claim.attempt) is None
        assert engine.settle(worker, claim, action="park", on="budget:b", error_class="budget") == {claim.id: "blocked"}
        jobs.append(claim.id)

    def waiting() -> list[int]:
        return [row["id"] for row in engine.rows("select id from lanework.jobs where blocked_on = 'budget:b' order by id")]

    engine.rows("select lanework.sweep_limits()")
    assert waiting() == jobs
    budget(engine, "b", 9)
    assert waiting() == jobs[2:], "the first ones that fit, in claim order"
    engine.rows("select lanework.remove_budget('b', 'ann')")
    assert waiting() == []
    assert engine.rows("select * from lanework.jobs where tries_used > 0") == []


def test_bounds(engine: Engine) -> None:
    for amount, per in ((-1, "day"), ("NaN", "day"), (1, "week")):
        with pytest.raises(psycopg.Error) as refused:
            engine.rows("select * from lanework.set_budget('b', %s::numeric, %s, 'test')", amount, per)
        assert refused.value.sqlstate == "LW551"
    with pytest.raises(psycopg.Error) as refused:
        reserve(engine, -1)
    assert refused.value.sqlstate == "LW551"
