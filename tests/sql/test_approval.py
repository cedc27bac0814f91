"""Promise 22: nothing starts before an approval of exactly this payload; an edit voids it. And all that leads there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.sql.desk import DAY, Desk, refused
from tests.sql.proof import move

# -- where a job starts -------------------------------------------------------------------------------------------------


def child_of(desk: Desk, name: str) -> int:
    desk.kind("parent")
    desk.engine.enqueue("parent")
    (claim,) = desk.claim("parent")
    rows = desk.engine.rows(
        "select * from lanework.submit_children(%s, %s, %s, '{a}', %s, array['{}'], 1, null, null, null, null)", *claim, name
    )
    return int(rows[0]["child_id"])


def copied(desk: Desk, name: str, **columns: Any) -> int:
    """By COPY, with whatever state one likes."""
    values = {
        "id": desk.engine.one("select nextval('lanework.job_ids')"),
        "type_id": desk.kinds[name],
        "status": "approved",
    } | columns
    with desk.engine.db.cursor().copy(f"copy lanework.jobs ({', '.join(values)}) from stdin") as copy:
        copy.write_row(list(values.values()))
    return int(values["id"])


Way = Callable[[Desk, str], int]
WAYS: dict[str, Way] = {
    "enqueue": lambda desk, name: desk.engine.enqueue(name),
    "enqueue later": lambda desk, name: desk.engine.enqueue(name, run_at=desk.engine.one("select lanework.now() + interval '1 h'")),
    "enqueue in a session": lambda desk, name: desk.engine.enqueue(name, session="s"),
    "copy": copied,
    "copy in a session": lambda desk, name: copied(desk, name, status="blocked", session="s", blocked_on="session"),
    "child": child_of,
    "insert": lambda desk, name: int(desk.engine.one(
        "insert into lanework.jobs (type_id, status) values (%s, 'approved') returning id", desk.kinds[name])),
}  # fmt: skip


@pytest.mark.parametrize("submit", WAYS.values(), ids=WAYS)
def test_whatever_the_way_it_waits_for_its_approval(desk: Desk, submit: Callable[[Desk, str], int]) -> None:
    desk.kind("t", approval="always")
    job = submit(desk, "t")
    assert desk.engine.status(job) == "awaiting_approval"
    desk.engine.promote(), desk.engine.sweep()
    move(desk.engine, hours=2)
    desk.engine.promote(), desk.engine.sweep()
    assert desk.claim("t") == []
    assert desk.row("approval_requests", job)["expires_at"] - desk.row("approval_requests", job)["since"] == DAY
    assert desk.approve(job) == "approved"
    assert [claim.id for claim in desk.claim("t")] == [job]


@pytest.mark.parametrize("submit", WAYS.values(), ids=WAYS)
def test_whatever_the_way_it_is_estimated_first(desk: Desk, submit: Callable[[Desk, str], int]) -> None:
    desk.kind("t", estimated=True, approval="above", approval_above=5)
    job = submit(desk, "t")
    assert desk.engine.status(job) == "pending"
    estimate = desk.estimate("t", low=1, high=9, tokens=3, warnings=["dear"])
    assert desk.engine.status(job) == "awaiting_approval"
    stored = desk.row("estimates", job)
    assert (stored["estimate_id"], stored["low"], stored["high"], stored["tokens"], stored["warnings"]) == (
        estimate, 1, 9, 3, ["dear"])  # fmt: skip
    assert desk.row("approval_requests", job)["why"] == "up to 9 USD is over 5 USD"
    assert desk.engine.one("select count(*) from lanework.estimating") == 0


def test_a_state_that_no_submit_gives_cannot_be_copied(desk: Desk) -> None:
    desk.kind("t", approval="always")
    assert refused(lambda: copied(desk, "t", status="pending")) == "LW300"
    assert refused(lambda: copied(desk, "t", status="awaiting_approval")) == "LW300"
    assert refused(lambda: copied(desk, "t", status="running")) == "LW300"


def test_types_that_need_nothing_start_as_ever(desk: Desk) -> None:
    desk.kind("t", approval="always")
    desk.kind("free")
    assert desk.engine.status(desk.engine.enqueue("free")) == "approved"
    assert desk.engine.status(copied(desk, "free")) == "approved"


def test_a_bulk_submit_makes_one_estimate_each(desk: Desk) -> None:
    desk.kind("t", estimated=True)
    desk.engine.rows(
        """insert into lanework.jobs (type_id, status, payload)
           select %s, 'approved', jsonb_build_object('n', n) from generate_series(1, 50) n""",
        desk.kinds["t"],
    )
    pairs = desk.engine.rows(
        """select j.payload = e.payload as same, j.status, e.continues = j.id as linked from lanework.estimating x
           join lanework.jobs j on j.id = x.job_id join lanework.jobs e on e.id = x.estimate_id"""
    )
    assert len(pairs) == 50 and all(row == {"same": True, "status": "pending", "linked": True} for row in pairs)


# -- rules --------------------------------------------------------------------------------------------------------------


def rule(desk: Desk, type: str, owner: str, policy: str, above: float | None = None, four_eyes: bool | None = None) -> None:
    sql = "select lanework.set_approval_rule(%s, %s, %s, %s::numeric, null, %s, 'boss')"
    desk.engine.rows(sql, type, owner, policy, above, four_eyes)


def test_the_most_specific_rule_holds(desk: Desk) -> None:
    desk.kind("t", approval="always")
    desk.kind("u")

    def starts(name: str, owner: str | None) -> bool:
        return desk.engine.status(desk.engine.enqueue(name, owner=owner)) == "approved"

    assert not starts("t", "ada") and starts("u", "ada")
    rule(desk, "*", "*", "never")
    assert starts("t", "ada") and starts("t", None)
    rule(desk, "*", "eve", "always")
    assert not starts("u", "eve") and starts("u", "ada") and starts("u", None)
    rule(desk, "u", "*", "never")
    assert starts("u", "eve") and not starts("t", "eve")
    rule(desk, "u", "eve", "always")
    assert not starts("u", "eve") and starts("u", "ada")
    assert desk.engine.one("select lanework.remove_approval_rule('u', 'eve', 'boss')")
    assert not desk.engine.one("select lanework.remove_approval_rule('u', 'eve', 'boss')")
    assert starts("u", "eve")
    assert [act for act, _ in desk.audit()][-5:] == ["approval_rule.set"] * 4 + ["approval_rule.remove"]


def test_a_sum_without_an_estimate_needs_an_approval(desk: Desk) -> None:
    desk.kind("t", approval="above", approval_above=5)
    job = desk.engine.enqueue("t")
    assert desk.engine.status(job) == "awaiting_approval"
    assert "its cost is not known" in desk.row("approval_requests", job)["why"]


def test_an_estimate_is_not_estimated(desk: Desk) -> None:
    """A rule for everybody does not mean the estimating jobs."""
    desk.kind("t", estimated=True)
    rule(desk, "*", "*", "always")
    desk.engine.enqueue("t")
    assert desk.engine.status(desk.engine.one("select estimate_id from lanework.estimating")) == "approved"


@pytest.mark.parametrize(
    "bad",
    [("t", "*", "sometimes", None), ("t", "*", "above", None), ("t", "*", "always", 3), ("t", "*", "above", -1),
     ("no", "*", "always", None)],
)  # fmt: skip
def test_rules_that_are_refused(desk: Desk, bad: tuple[Any, ...]) -> None:
    desk.kind("t")
    assert refused(lambda: rule(desk, *bad)) == "LW523"


# -- approving ----------------------------------------------------------------------------------------------------------


def test_an_approval_is_for_what_was_seen(desk: Desk) -> None:
    desk.kind("t", approval="always")
    job = desk.engine.enqueue("t", {"n": 1})
    seen = desk.hash(job)
    desk.edit(job, n=2)
    assert refused(lambda: desk.approve(job, seen)) == "LW520"
    assert refused(lambda: desk.engine.one("select lanework.approve(%s, null)", job)) == "LW520"
    assert desk.engine.status(job) == "awaiting_approval"
    assert desk.approve(job) == "approved"
    assert desk.row("approvals", job)["hash"] == desk.hash(job) != seen
    assert desk.audit()[-2:] == [("job.edit", f"job:{job}"), ("job.approve", f"job:{job}")]


def test_the_hash_is_of_all_that_costs(desk: Desk) -> None:
    desk.kind("t", approval="always"), desk.kind("u", approval="always")
    enqueue = desk.engine.enqueue
    jobs = [enqueue("t", {"n": 1}), enqueue("t", {"n": 2}), enqueue("u", {"n": 1}), enqueue("t", {"n": 1}, version=2),
            enqueue("t", {"n": 1}, owner="ada")]  # fmt: skip
    assert len({desk.hash(job) for job in jobs}) == len(jobs)
    assert desk.hash(enqueue("t", {"n": 1}, priority=5, tags=["x"], max_tries=9)) == desk.hash(jobs[0])


def test_approving_what_does_not_wait(desk: Desk) -> None:
    desk.kind("t", estimated=True, approval="always"), desk.kind("free")
    pending, free = desk.engine.enqueue("t"), desk.engine.enqueue("free")
    assert refused(lambda: desk.approve(pending)) == "LW521"
    assert refused(lambda: desk.approve(free)) == "LW521"
    assert refused(lambda: desk.reject(free)) == "LW521"
    desk.engine.cancel(free)
    assert refused(lambda: desk.approve(free, "x")) == "LW521"
    assert desk.approve(10**9, "x") is None and desk.reject(10**9) is None


def test_up_to_a_sum(desk: Desk) -> None:
    desk.kind("t", estimated=True, approval="always")
    job = desk.engine.enqueue("t")
    desk.estimate("t", low=2, high=6)
    assert refused(lambda: desk.approve(job, limit=1.5)) == "LW523"
    assert refused(lambda: desk.approve(job, limit=-1)) == "LW523"
    assert refused(lambda: desk.approve(job, limit=float("nan"))) == "LW523"
    assert desk.approve(job, limit=4) == "approved"
    assert desk.row("approvals", job)["limit_amount"] == 4


@pytest.mark.parametrize(
    ("owner", "by", "allowed"),
    [("ada", "boss", True), ("ada", "ada", False), ("ada", "cli:ada", False), ("ada", "CLI:Ada", False), ("ada", "", False),
     (None, "boss", False), ("ada", "editor", False)],
)  # fmt: skip
def test_four_eyes(desk: Desk, owner: str | None, by: str, allowed: bool) -> None:
    desk.kind("t", approval="always", four_eyes=True)
    job = desk.engine.enqueue("t", owner=owner)
    desk.edit(job, by="editor", n=2)
    if allowed:
        assert desk.approve(job, by=by) == "approved"
    else:
        assert refused(lambda: desk.approve(job, by=by)) == "LW522"
        assert desk.engine.status(job) == "awaiting_approval"


def test_a_rule_can_ask_for_four_eyes(desk: Desk) -> None:
    desk.kind("t")
    rule(desk, "t", "*", "always", four_eyes=True)
    job = desk.engine.enqueue("t", owner="ada")
    assert refused(lambda: desk.approve(job, by="ada")) == "LW522"


def test_a_rejected_job_is_cancelled_with_its_reason(desk: Desk) -> None:
    desk.kind("t", approval="always")
    job = desk.engine.enqueue("t")
    assert refused(lambda: desk.reject(job, " ")) == "LW523"
    assert desk.reject(job, "too dear") == "cancelled"
    assert desk.engine.job(job)["reason"] == "too dear" and desk.row("approval_requests", job) == {}
    assert desk.audit() == [("job.reject", f"job:{job}")]


def test_an_approval_that_nobody_gives(desk: Desk) -> None:
    desk.kind("t", approval="always"), desk.kind("quick", approval="always", approval_expiry_s=60)
    slow, quick = desk.engine.enqueue("t"), desk.engine.enqueue("quick")
    move(desk.engine, seconds=61)
    assert desk.tend() == 1 and desk.engine.status(quick) == "cancelled" and desk.engine.status(slow) == "awaiting_approval"
    assert desk.engine.job(quick)["reason"] == "not approved within 00:01:00 of asking"
    move(desk.engine, hours=24)
    assert desk.tend() == 1 and desk.engine.status(slow) == "cancelled"
    assert desk.engine.one("select count(*) from lanework.approval_requests") == 0


def test_an_approved_job_joins_its_session_by_id(desk: Desk) -> None:
    """A job that waits for an approval does not hold its session; once approved, it is the next by its id."""
    desk.kind("t", approval="always"), desk.kind("free")
    dear = desk.engine.enqueue("t", session="s")
    first, second = desk.engine.enqueue("free", session="s"), desk.engine.enqueue("free", session="s")
    desk.engine.rows("select lanework.promote_sessions('{s}')")
    assert [desk.engine.status(job) for job in (dear, first, second)] == ["awaiting_approval", "approved", "blocked"]
    assert desk.approve(dear) == "blocked"
    (claim,) = desk.claim("free")
    desk.engine.completed(desk.worker, claim)
    assert [desk.engine.status(job) for job in (dear, second)] == ["approved", "blocked"]


def test_many_at_once(desk: Desk) -> None:
    desk.kind("t", approval="always"), desk.kind("eyes", approval="always", four_eyes=True), desk.kind("free")
    jobs = [desk.engine.enqueue("t", {"n": n}) for n in range(5)]
    own, free = desk.engine.enqueue("eyes", owner="boss"), desk.engine.enqueue("free")
    asked = desk.engine.one("select lanework.now()")
    move(desk.engine, seconds=1)
    desk.edit(jobs[1], n=100)
    late = desk.engine.enqueue("t")

    def carry(kind: str, ids: list[int], **args: Any) -> int:
        return int(desk.engine.one(f"select lanework.carry_{kind}(%s, %s, 'boss', 1)", ids, json.dumps(args, default=str)))

    assert carry("approve", [*jobs, own, free, late]) == 0, "nobody can have seen what nobody says when he saw it"
    assert carry("approve", [*jobs[:4], own, free, late], asked_at=asked, limit=3) == 3
    assert [desk.engine.status(job) for job in jobs[:4]] == ["approved", "awaiting_approval", "approved", "approved"]
    assert desk.engine.status(own) == desk.engine.status(late) == "awaiting_approval"
    assert desk.row("approvals", jobs[0])["limit_amount"] == 3
    assert carry("reject", [*jobs, own, free, late], reason="closed") == 4
    assert desk.engine.job(late)["reason"] == "closed" and desk.engine.status(free) == "approved"


# -- editing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("session", [None, "s"])
@pytest.mark.parametrize("state", ["pending", "awaiting_approval", "approved", "scheduled", "retry"])
@pytest.mark.parametrize("estimated", [False, True])
def test_an_edit_starts_anew_from_every_waiting_state(desk: Desk, state: str, estimated: bool, session: str | None) -> None:
    if state == "pending" and not estimated:
        pytest.skip("only what is estimated is pending")
    desk.kind("t", estimated=estimated, approval="always")
    later = desk.engine.one("select lanework.now() + interval '1 h'") if state == "scheduled" else None
    job = desk.engine.enqueue("t", {"n": 1}, run_at=later, session=session)
    if state != "pending" and estimated:
        (claim,) = desk.claim("t:estimate")
        desk.save(claim, "fetch", "page")
        desk.engine.completed(desk.worker, claim, result={"high": 1})
    if state not in ("pending", "awaiting_approval"):
        assert desk.approve(job) in ("approved", "scheduled")
    if state == "retry":
        (claim,) = desk.claim("t")
        desk.save(claim, "paid", 1)
        desk.engine.settle(desk.worker, claim, action="retry", delay_s=60)
    assert desk.engine.status(job) == ("scheduled" if state == "retry" else state)
    old = desk.engine.rows("select estimate_id from lanework.estimating where job_id = %s", job)
    assert desk.edit(job, n=2) == ("pending" if estimated else "awaiting_approval")
    for row in old:
        assert desk.engine.status(row["estimate_id"]) == "cancelled"
    assert desk.row("approvals", job) == desk.row("estimates", job) == {}
    assert desk.engine.one("select count(*) from lanework.steps") == 0
    desk.engine.promote(), desk.engine.sweep(), desk.tend()
    assert desk.claim("t") == []
    if estimated:
        desk.estimate("t", high=1)
    desk.approve(job)
    move(desk.engine, hours=2)
    desk.engine.promote()
    assert [claim.id for claim in desk.claim("t")] == [job]
    assert desk.engine.job(job)["payload"] == {"n": 2}


def test_an_edit_of_a_job_that_needs_nothing(desk: Desk) -> None:
    desk.kind("free")
    job = desk.engine.enqueue("free", {"n": 1})
    assert desk.edit(job, n=2) == "approved"
    (claim,) = desk.claim("free")
    assert desk.engine.job(claim.id)["payload"] == {"n": 2}


def test_what_cannot_be_edited(desk: Desk) -> None:
    desk.kind("t", estimated=True), desk.kind("free")
    job = desk.engine.enqueue("free")
    for bad in ("[1]", "3", json.dumps({"n": "x" * 300_000})):
        assert refused(lambda bad=bad: desk.engine.one("select lanework.edit(%s, %s)", job, bad)) == "LW300"  # type: ignore[misc]
    (claim,) = desk.claim("free")
    assert refused(lambda: desk.edit(job, n=2)) == "LW524"
    desk.engine.rows(
        "select lanework.submit_children(%s, %s, %s, '{a}', 'free', array['{}'], 1, null, null, null, null)", *claim)  # fmt: skip
    desk.engine.settle(desk.worker, claim, action="wait")
    assert desk.engine.status(job) == "blocked"
    assert refused(lambda: desk.edit(job, n=2)) == "LW524"
    desk.engine.enqueue("t")
    assert refused(lambda: desk.edit(desk.engine.one("select estimate_id from lanework.estimating"), n=2)) == "LW524"
    desk.engine.cancel(job)
    assert refused(lambda: desk.edit(job, n=2)) == "LW524"
    assert desk.edit(10**9, n=2) is None


def test_a_redrive_asks_for_no_second_approval(desk: Desk) -> None:
    """The row comes back with the payload that was approved; a canary has only one try."""
    desk.kind("t", estimated=True, approval="always")
    job = desk.engine.enqueue("t")
    desk.estimate("t", high=1)
    desk.approve(job)
    row = desk.engine.rows("select * from lanework.jobs where id = %s", job)[0]
    desk.engine.rows("delete from lanework.jobs where id = %s", job)
    back = "insert into lanework.jobs (id, type_id, status, payload, max_tries) values (%s, %s, 'approved', %s, 1)"
    desk.engine.rows(back, job, row["type_id"], json.dumps(row["payload"]))
    assert desk.engine.status(job) == "approved"
    desk.engine.rows("delete from lanework.jobs where id = %s", job)
    desk.engine.rows(back, job, row["type_id"], '{"other": 1}')
    assert desk.engine.status(job) == "pending", "another payload is another job"
    desk.engine.rows("delete from proof.history")  # no job comes and goes like this


# -- what was spent -----------------------------------------------------------------------------------------------------


def test_spending_is_a_fact(desk: Desk) -> None:
    desk.kind("t", estimated=True)
    job = desk.engine.enqueue("t")
    spend = "select lanework.spend(%s, %s, %s::numeric, 'USD', 10, 1)"
    desk.engine.rows(spend, desk.engine.one("select estimate_id from lanework.estimating"), "count", 0.1)
    desk.estimate("t", low=1, high=2)
    (claim,) = desk.claim("t")
    desk.engine.rows(spend, job, "a", 1.5)
    desk.engine.settle(desk.worker, claim, action="retry")
    desk.engine.rows(spend, job, "late", 0.5)  # of an attempt that is superseded
    desk.engine.rows(spend, job, "late", 0.5)  # the same fact
    about = desk.engine.one("select lanework.about_cost(%s)", job)
    assert about["spent"] == {"amount": 2.1, "currency": "USD", "tokens": 30, "items": 3}
    assert (about["estimate"]["low"], about["estimate"]["high"]) == (1, 2)
