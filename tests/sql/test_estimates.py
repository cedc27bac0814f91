"""What a job costs is estimated by another one first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.conftest import Another
from tests.sql.desk import Desk
from tests.sql.proof import move


@pytest.mark.parametrize(
    ("policy", "result", "next"),
    [("never", {"high": 99}, "approved"), ("always", {"high": 0}, "awaiting_approval"), ("above", {"high": 5}, "approved"),
     ("above", {"high": 5.01}, "awaiting_approval"), ("above", {"low": 7}, "awaiting_approval"), ("above", {}, "awaiting_approval"),
     ("above", {"high": 1, "currency": "EUR"}, "awaiting_approval")],
)  # fmt: skip
def test_the_policy_decides_by_the_estimate(desk: Desk, policy: str, result: dict[str, Any], next: str) -> None:
    desk.kind("t", estimated=True, approval=policy, approval_above=5 if policy == "above" else None)
    job = desk.engine.enqueue("t")
    desk.estimate("t", **result)
    assert desk.engine.status(job) == next


@pytest.mark.parametrize("end", ["fail", "retry", "cancel", "operator", "no estimate", "bad number", "nothing"])
@pytest.mark.parametrize("policy", ["never", "always"])
def test_an_estimate_that_fails_approves_nothing(desk: Desk, policy: str, end: str) -> None:
    desk.kind("t", estimated=True, approval=policy)
    job = desk.engine.enqueue("t")
    estimate = desk.engine.one("select estimate_id from lanework.estimating")
    if end == "operator":
        assert desk.engine.cancel(estimate) == "cancelled"
    else:
        desk.engine.rows("update lanework.jobs set max_tries = 1 where id = %s", estimate)
        (claim,) = desk.claim("t:estimate")
        if end in ("fail", "retry", "cancel"):
            desk.engine.settle(desk.worker, claim, action=end, error="no model", error_class="permanent")
        else:
            results = {"no estimate": [1], "bad number": {"high": "much"}, "nothing": None}
            desk.engine.completed(desk.worker, claim, result=results[end])
    assert desk.engine.status(job) == "awaiting_approval"
    stored = desk.row("estimates", job)
    assert stored["failed"] and len(stored["warnings"]) == 1
    assert desk.row("approval_requests", job)["why"].startswith("its cost is not known: its estimat")
    assert desk.claim("t") == []


def test_an_estimate_is_retried_like_any_job(desk: Desk) -> None:
    desk.kind("t", estimated=True)
    job = desk.engine.enqueue("t")
    (claim,) = desk.claim("t:estimate")
    assert set(desk.engine.settle(desk.worker, claim, action="retry").values()) == {"approved"}
    assert desk.engine.status(job) == "pending"
    desk.estimate("t", high=1)
    assert desk.engine.status(job) == "approved"


def test_a_superseded_estimate_is_not_taken(desk: Desk) -> None:
    desk.kind("t", estimated=True)
    job = desk.engine.enqueue("t")
    (old,) = desk.claim("t:estimate")
    desk.engine.settle(desk.worker, old, action="release")
    assert desk.engine.completed(desk.worker, old, result={"high": 1}) == 0
    assert desk.engine.status(job) == "pending"


def test_its_steps_and_blobs_are_the_runs(desk: Desk) -> None:
    desk.kind("t", estimated=True)
    job = desk.engine.enqueue("t")
    (claim,) = desk.claim("t:estimate")
    desk.save(claim, "fetch", "page")
    desk.engine.rows("select lanework.save_blob(%s, %s, %s, 'sha256:x', 'data')", *claim)
    desk.engine.completed(desk.worker, claim, result={"high": 1})
    assert desk.engine.rows("select job_id, key, result from lanework.steps") == [{"job_id": job, "key": "fetch", "result": "page"}]
    assert desk.engine.rows("select job_id from lanework.job_blobs") == [{"job_id": job}]
    (row,) = desk.engine.claim_rows(desk.worker, desk.lane, desk.kinds["t"])
    assert (row["id"], row["attempt"], row["past"]) == (job, 1, True), "its first attempt must look for stored steps"


def test_the_steps_of_a_failed_estimate_are_kept_too(desk: Desk) -> None:
    desk.kind("t", estimated=True)
    job = desk.engine.enqueue("t")
    (claim,) = desk.claim("t:estimate")
    desk.save(claim, "fetch", "page")
    desk.engine.settle(desk.worker, claim, action="fail")
    assert desk.engine.one("select job_id from lanework.steps") == job


def test_an_estimate_finds_what_its_job_has_inherited(desk: Desk) -> None:
    desk.kind("t", estimated=True)
    first = desk.engine.enqueue("t")
    desk.estimate("t", high=1)
    (claim,) = desk.claim("t")
    desk.save(claim, "fetch", "page")
    desk.engine.settle(desk.worker, claim, action="fail")
    second = desk.engine.enqueue("t", continues=first)
    estimate = desk.engine.one("select estimate_id from lanework.estimating")
    assert desk.engine.rows("select key, result from lanework.steps where job_id = %s", estimate) == [
        {"key": "fetch", "result": "page"}
    ]
    desk.estimate("t", high=1)
    assert desk.engine.job(second)["continues"] == first
    assert desk.engine.one("select count(*) from lanework.steps where job_id = %s", second) == 1


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("how", ["cancel", "reject", "max_age"])
def test_the_end_of_a_pending_job_ends_its_estimate(desk: Desk, how: str, running: bool) -> None:
    desk.kind("t", estimated=True)
    job = desk.engine.enqueue("t", max_age=timedelta(seconds=30))
    estimate = desk.engine.one("select estimate_id from lanework.estimating")
    claims = desk.claim("t:estimate") if running else []
    if how == "cancel":
        assert desk.engine.cancel(job) == "cancelled"
    elif how == "reject":
        assert desk.reject(job) == "cancelled"
    else:
        move(desk.engine, seconds=31)
        assert desk.engine.sweep() == {"expired": 1}
    if running:
        assert desk.engine.one("select kind from lanework.stops where job_id = %s", estimate) == "cancel"
        desk.engine.settle(desk.worker, *claims, action="release")
    assert desk.engine.status(estimate) == "cancelled"
    assert desk.engine.one("select count(*) from lanework.estimating") == 0
    assert desk.engine.status(job) == ("failed" if how == "max_age" else "cancelled")


def test_the_sweep_finds_pending_jobs_that_nobody_estimates(desk: Desk) -> None:
    desk.kind("t", estimated=True)
    job = desk.engine.enqueue("t")
    assert desk.tend() == 0
    desk.engine.rows("delete from lanework.estimating")
    assert desk.tend() == 1
    assert desk.engine.status(job) == "awaiting_approval"
    assert "nobody estimates it" in desk.row("approval_requests", job)["why"]


def test_an_end_of_an_estimate_whose_job_is_held_is_taken_by_the_sweep(desk: Desk, another: Another) -> None:
    desk.kind("t", estimated=True)
    job = desk.engine.enqueue("t")
    other = another()
    with other.db.transaction():
        other.rows("select from lanework.jobs where id = %s for update", job)
        desk.estimate("t", high=1)
        assert desk.engine.status(job) == "pending"
        assert desk.tend() == 0
    assert desk.tend() == 1
    assert desk.engine.status(job) == "approved" and desk.row("estimates", job)["high"] == 1
