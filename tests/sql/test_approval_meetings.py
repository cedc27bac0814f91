"""Promise 22, whatever meets what: approve, edit, cancel, reject, expire, claim and the end of the estimate, each beside each."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import psycopg
import pytest

from tests.sql.conftest import Another
from tests.sql.desk import Desk
from tests.sql.engine import Claim, Engine
from tests.sql.interleave import Beside
from tests.sql.proof import complaints, move

Act = Callable[[Desk, int, str], object]


def expire(desk: Desk, job: int, seen: str) -> int:
    return desk.tend()


def finish_estimate(desk: Desk, job: int, seen: str) -> object:
    claim = Claim(*desk.engine.rows("select id, attempt, claim_id from lanework.jobs where status = 'running'")[0].values())
    return desk.engine.completed(desk.worker, claim, result={"high": 1})


ACTS: dict[str, Act] = {
    "approve": lambda desk, job, seen: desk.approve(job, seen),
    "edit": lambda desk, job, seen: desk.edit(job, n=uuid.uuid4().hex),
    "cancel": lambda desk, job, seen: desk.engine.cancel(job),
    "reject": lambda desk, job, seen: desk.reject(job),
    "expire": expire,
    "claim": lambda desk, job, seen: desk.claim("t"),
    "estimate": finish_estimate,
}
STATES = {
    "pending": ("estimate", "edit", "cancel", "reject", "expire"),
    "awaiting_approval": ("approve", "edit", "cancel", "reject", "expire", "claim"),
    "approved": ("claim", "edit", "cancel", "approve", "reject"),
}
MEETINGS = [(state, one, two) for state, acts in STATES.items() for one in acts for two in acts]


def prepared(desk: Desk, state: str) -> tuple[int, str]:
    desk.kind("t", estimated=state == "pending", approval="always")
    job = desk.engine.enqueue("t", {"n": 1})
    if state == "pending":
        desk.claim("t:estimate")
    if state == "approved":
        desk.approve(job)
    else:
        move(desk.engine, hours=25)
    return job, desk.hash(job)


def tried(act: Act, desk: Desk, job: int, seen: str) -> str:
    """Done, or refused in words of ours."""
    try:
        act(desk, job, seen)
    except psycopg.Error as error:
        assert (error.sqlstate or "").startswith("LW52"), error
        return error.sqlstate or ""
    return "done"


def check(desk: Desk, job: int) -> None:
    """Whoever won: what may start is approved as it is."""
    row = desk.engine.job(job)
    approval = desk.row("approvals", job)
    if row["place"] == "jobs":
        right = approval.get("hash") == desk.hash(job)
        assert not approval or right, "an approval of another payload"
        assert (row["status"] in ("approved", "running")) == right, row["status"]
        assert row["status"] == "running" or row["claim_id"] is None, "taken from whoever runs it"
        assert (row["status"] == "awaiting_approval") == bool(desk.row("approval_requests", job))
        assert (row["status"] == "pending") == bool(desk.row("estimating", job))
    else:
        assert row["status"] == "cancelled" and not desk.row("approval_requests", job) and not desk.row("estimating", job)
    desk.engine.promote(), desk.engine.sweep()
    desk.claim("t")
    assert complaints(desk.engine) == []


def meet(engine: Engine, another: Another, meeting: tuple[str, str, str], commits: bool = True) -> None:
    state, one, two = meeting
    desk = Desk(engine)
    job, seen = prepared(desk, state)
    first, second = desk.on(another()), desk.on(another())
    call: Beside[str] | None = None
    try:
        with first.engine.db.transaction():
            answer = tried(ACTS[one], first, job, seen)
            call = Beside(engine, second.engine, lambda: tried(ACTS[two], second, job, seen))
            if answer != "done" or not commits:
                raise psycopg.Rollback
    except psycopg.errors.InFailedSqlTransaction:
        pass
    assert call is not None
    call.result()
    desk.tend()
    check(desk, job)


@pytest.mark.parametrize("meeting", MEETINGS, ids="-".join)
def test_promise_22_whatever_meets_what(engine: Engine, another: Another, meeting: tuple[str, str, str]) -> None:
    meet(engine, another, meeting)


@pytest.mark.pg(18)
@pytest.mark.parametrize("meeting", MEETINGS, ids="-".join)
def test_whatever_is_rolled_back_did_not_happen(engine: Engine, another: Another, meeting: tuple[str, str, str]) -> None:
    meet(engine, another, meeting, commits=False)
