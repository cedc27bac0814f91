"""Submitting, waiting for a moment, cancelling, expiring."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.sql.engine import Engine
from tests.sql.proof import move

FUTURE = datetime(2030, 1, 1, 1, tzinfo=UTC)  # an hour after the frozen clock


@pytest.mark.parametrize(("options", "named"), [
    ({"priority": 1001}, "priority"), ({"priority": -1001}, "priority"), ({"max_tries": 0}, "max_tries"),
    ({"max_tries": 101}, "max_tries"), ({"version": 0}, "version"), ({"owner": "o" * 201}, "owner"),
    ({"idempotency_key": ""}, "idempotency_key"), ({"idempotency_key": "k" * 201}, "idempotency_key"),
    ({"tags": ["t"] * 21}, "tags"), ({"tags": [None]}, "tags"), ({"max_age": timedelta(0)}, "max_age"),
    ({"run_at": datetime(1999, 1, 1, tzinfo=UTC)}, "run_at"), ({"run_at": datetime(9999, 1, 1, tzinfo=UTC)}, "run_at"),
])  # fmt: skip
def test_what_is_out_of_bounds_is_named_and_not_stored(engine: Engine, options: dict[str, Any], named: str) -> None:
    engine.type("t")
    with pytest.raises(psycopg.Error, match=f"^{named}: ") as caught:
        engine.enqueue("t", **options)
    assert caught.value.sqlstate == "LW300"
    assert engine.one("select count(*) from lanework.jobs") == engine.one("select count(*) from lanework.keys") == 0


@pytest.mark.parametrize("payload", ["[1]", "null", "1", '"text"'])
def test_a_payload_is_an_object(engine: Engine, payload: str) -> None:
    engine.type("t")
    with pytest.raises(psycopg.Error, match=r"^payload: "):
        engine.rows("select lanework.enqueue('t', %s::jsonb)", payload)


def test_an_unknown_type_is_refused(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="no job type is called 'nope'") as caught:
        engine.enqueue("nope")
    assert caught.value.sqlstate == "LW301"


def test_the_same_key_is_the_same_job(engine: Engine) -> None:
    engine.type("t")
    job = engine.enqueue("t", {"a": 1}, idempotency_key="k")
    assert engine.enqueue("t", {"a": 1}, idempotency_key="k") == job
    assert engine.enqueue("t", {"a": 1}, idempotency_key="k", owner="somebody") != job, "keys belong to an owner"
    with pytest.raises(psycopg.Error, match="idempotency_key") as caught:
        engine.enqueue("t", {"a": 2}, idempotency_key="k")
    assert caught.value.sqlstate == "LW302"
    assert engine.one("select count(*) from lanework.jobs") == 2


def test_a_key_outlives_its_job_for_a_week(engine: Engine) -> None:
    engine.type("t")
    job = engine.enqueue("t", idempotency_key="k")
    move(engine, days=30)
    assert engine.enqueue("t", idempotency_key="k") == job, "as long as the job lives"
    engine.cancel(job)
    move(engine, days=6)
    engine.rows("select lanework.prune()")
    assert engine.enqueue("t", idempotency_key="k") == job
    move(engine, days=2)
    assert engine.enqueue("t", {"other": 1}, idempotency_key="k") != job


@pytest.mark.parametrize("row", [
    "'running', null, 0", "'completed', null, 0", "'scheduled', null, 0", "'approved', now(), 0", "'approved', null, 1",
])  # fmt: skip
def test_copied_rows_start_as_submits_do(engine: Engine, row: str) -> None:
    kind = engine.type("t")
    with pytest.raises(psycopg.Error) as caught:
        engine.rows(f"insert into lanework.jobs (type_id, status, run_at, attempt) select {kind}, {row}")
    assert caught.value.sqlstate == "LW300"


def test_a_delayed_job_is_claimable_when_due(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l"), engine.type("t", "l"), engine.worker()
    job = engine.enqueue("t", run_at=FUTURE)
    assert engine.status(job) == "scheduled"
    move(engine, minutes=59)
    assert engine.promote() == 0 and engine.claim(worker, lane, kind) == []
    move(engine, minutes=1)
    assert engine.promote() == 1
    assert [c.id for c in engine.claim(worker, lane, kind)] == [job]


def test_promotion_is_bounded_and_earliest_first(engine: Engine) -> None:
    engine.type("t")
    jobs = [engine.enqueue("t", run_at=FUTURE - timedelta(minutes=n)) for n in range(5)]
    move(engine, hours=2)
    assert engine.promote(2) == 2
    assert [engine.status(j) for j in jobs] == ["scheduled"] * 3 + ["approved"] * 2


@pytest.mark.parametrize("run_at", [None, FUTURE])
def test_cancel_ends_a_queued_job_at_once(engine: Engine, run_at: datetime | None) -> None:
    engine.type("t")
    job = engine.enqueue("t", run_at=run_at)
    assert engine.cancel(job, "why") == "cancelled"
    assert (engine.status(job), engine.job(job)["reason"]) == ("cancelled", "why")
    assert engine.cancel(job) == "cancelled" and engine.cancel(10**9) is None


def test_a_final_state_answers_a_cancel(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l"), engine.type("t", "l"), engine.worker()
    job = engine.enqueue("t")
    (claim,) = engine.claim(worker, lane, kind)
    engine.settle(worker, claim, action="fail")
    assert engine.cancel(job) == "failed" and engine.status(job) == "failed"


def test_old_jobs_expire_and_running_ones_are_asked_to_stop(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l"), engine.type("t", "l"), engine.worker()
    hour = timedelta(hours=1)
    run, waits, delayed, young = (
        engine.enqueue("t", max_age=hour), engine.enqueue("t", max_age=hour),
        engine.enqueue("t", max_age=hour, run_at=FUTURE + hour), engine.enqueue("t", max_age=3 * hour))  # fmt: skip
    engine.claim(worker, lane, kind, no=1)
    move(engine, hours=1)
    assert engine.sweep() == {"expired": 2, "overdue": 1} and engine.sweep() == {}
    assert [engine.status(j) for j in (run, waits, delayed, young)] == ["running", "failed", "failed", "approved"]
    assert engine.job(waits)["error_class"] == "timeout"
    assert [(s["kind"], s["job_id"]) for s in engine.beat(worker, open=[1])] == [("expired", run)]


@pytest.mark.parametrize(("options", "reported", "stale"), [
    ({}, False, False), ({}, True, True), ({"reports_progress": True}, False, True),
    ({"reports_progress": True, "never_stale": True}, True, False), ({"stale_after_s": 7200}, True, False),
])  # fmt: skip
def test_stale_is_who_reports_progress_and_then_does_not(
    engine: Engine, options: dict[str, Any], reported: bool, stale: bool
) -> None:
    lane, kind, worker = engine.lane("l"), engine.type("t", "l", **options), engine.worker()
    engine.enqueue("t")
    (claim,) = engine.claim(worker, lane, kind, no=1)
    if reported:
        assert engine.progress(claim) == {claim.id}
    move(engine, minutes=29)
    assert engine.sweep() == {}
    move(engine, minutes=2)
    assert engine.sweep() == ({"stalled": 1} if stale else {})


def test_a_stop_that_met_a_job_on_its_way_back_is_carried_out(engine: Engine) -> None:
    engine.type("t")
    job = engine.enqueue("t")
    engine.rows("insert into lanework.stops (job_id, kind, reason) values (%s, 'cancel', 'late')", job)
    engine.sweep()
    assert engine.status(job) == "cancelled" and engine.one("select count(*) from lanework.stops") == 0
