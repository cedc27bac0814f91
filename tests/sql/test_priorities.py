"""Priorities of jobs that wait, as SQL."""

from __future__ import annotations

from typing import Any

from tests.sql.engine import Engine, Range
from tests.sql.operations import carry, kind, operation, refused, start


def test_a_raised_job_is_first(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    jobs = [engine.enqueue("t") for _ in range(3)]
    assert engine.one("select lanework.set_priority(%s, 7, 'ann')", jobs[2]) == 0
    (claim,) = engine.claim(worker, lane, kind(engine))
    assert claim.id == jobs[2]
    assert engine.one("select priority from lanework.all_jobs where id = %s", jobs[2]) == 7
    (row,) = engine.rows("select actor, act, target, before->>'priority' as was, after->>'priority' as now from lanework.audit_log")
    assert row == {"actor": "ann", "act": "job.priority", "target": f"job:{jobs[2]}", "was": "0", "now": "7"}


def test_a_priority_that_changes_nothing_is_refused_in_words(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    job = engine.enqueue("t")
    sql = "select lanework.set_priority(%s, %s, 'ann')"
    assert "-1000 to 1000, got 1001" in refused(engine, "LW300", sql, job, 1001)
    refused(engine, "LW300", sql, job, None)
    refused(engine, "LW310", sql, 10**9, 1)
    claims = engine.claim(worker, lane, kind(engine))
    assert "is running" in refused(engine, "LW502", sql, job, 1)
    engine.completed(worker, *claims)
    assert "is already completed" in refused(engine, "LW502", sql, job, 1)
    refused(engine, "LW300", "select lanework.start_operation('priority', '{\"owner\": \"x\"}', '{\"priority\": 5000}', 'ann')")
    assert engine.rows("select from lanework.audit_log") == []


def test_priorities_by_filter(engine: Engine, lane: int) -> None:
    worker = engine.worker()
    running = engine.enqueue("t", priority=1)
    engine.claim(worker, lane, kind(engine))
    jobs = [engine.enqueue("t") for _ in range(3)] + [engine.enqueue("t", session="s")]
    act = start(engine, "priority", {"type": ["t"]}, priority=-4)
    assert not carry(engine)
    assert operation(engine, act)["matched"] == operation(engine, act)["done"] == 4
    assert {engine.job(job)["rank"] for job in jobs} == {4} and engine.job(running)["rank"] == -1


def test_a_raise_is_announced_as_lying_behind(engine: Engine, another: Any, lane: int) -> None:
    """What a worker has claimed last lies before it: without a word it would not look there at once."""
    worker, listener = engine.worker(), another()
    listener.rows("listen lanework")
    old, new = engine.enqueue("t"), engine.enqueue("t", priority=5)
    (claim,) = engine.claim(worker, lane, kind(engine))
    assert claim.id == new
    position = (-5, engine.one("select created_at from lanework.jobs where id = %s", new), new)
    engine.one("select lanework.set_priority(%s, 5, 'ann')", old)
    assert engine.claim(worker, lane, Range(kind(engine), position, below=0), used=1) == []
    assert [notify.payload for notify in listener.db.notifies(timeout=5, stop_after=1)] == ["<l"]
    assert [claim.id for claim in engine.claim(worker, lane, kind(engine), used=1)] == [old]
