"""Drains of workers and of everything, as SQL."""

from __future__ import annotations

from typing import Any

from tests.sql.engine import Engine
from tests.sql.interleave import Beside
from tests.sql.operations import kind, refused


def test_a_drained_worker_claims_nothing_and_finishes(engine: Engine, lane: int) -> None:
    worker, other = engine.worker(), engine.worker()
    jobs = [engine.enqueue("t") for _ in range(4)]
    claims = engine.claim(worker, lane, kind(engine))
    assert engine.one("select lanework.drain_worker(%s, 'ann')", worker) == "draining"
    assert engine.claim(worker, lane, kind(engine), done=claims) == []
    assert engine.status(jobs[0]) == "completed"
    assert [c.id for c in engine.claim(other, lane, kind(engine))] == [jobs[1]], "others go on"
    assert engine.beat(worker) == []
    assert engine.one("select lanework.resume_worker(%s, 'ann')", worker) == "active"
    assert [c.id for c in engine.claim(worker, lane, kind(engine))] == [jobs[2]]


def test_a_drain_waits_for_a_claim_under_way(engine: Engine, another: Any, lane: int) -> None:
    worker, one, two = engine.worker(), another(), another()
    engine.enqueue("t")
    with one.db.transaction():
        one.claim(worker, lane, kind(engine))
        drain = Beside(engine, two, lambda: two.one("select lanework.drain_worker(%s, 'ann')", worker))
        assert drain.blocked
    assert drain.result() == "draining"


def test_workers_that_cannot_be_steered(engine: Engine) -> None:
    worker = engine.worker()
    for verb in ("drain_worker", "resume_worker"):
        refused(engine, "LW503", f"select lanework.{verb}(12345678, 'ann')")
    assert engine.one("select lanework.resume_worker(%s, 'ann')", worker) == "active"
    engine.rows("update lanework.workers set state = 'draining'")
    assert engine.one("select lanework.drain_worker(%s, 'ann')", worker) == "draining"
    assert "stopping by itself" in refused(engine, "LW504", "select lanework.resume_worker(%s, 'ann')", worker)
    engine.end_worker(worker)
    for verb in ("drain_worker", "resume_worker"):
        refused(engine, "LW504", f"select lanework.{verb}(%s, 'ann')", worker)
    assert engine.rows("select from lanework.audit_log") == []


def test_everything_is_drained_and_resumed(engine: Engine, lane: int) -> None:
    worker, default = engine.worker(), engine.one("select id from lanework.lanes where name = 'default'")
    jobs = [engine.enqueue("t"), engine.enqueue("u")]
    engine.rows("select * from lanework.set_lane('default', '{\"enabled\": false}', 'ann', false)")
    assert engine.one("select lanework.drain_all('ann', 'upgrade')") is True
    assert engine.one("select lanework.drain_all('bob')") is False
    assert engine.claim(worker, lane, kind(engine)) == []
    assert engine.one("select lanework.held_by('l')") == ["everything is drained by ann"]
    assert engine.one("select enabled from lanework.lanes where name = 'l'") is True
    assert engine.one("select lanework.resume_all('ann')") is True
    assert engine.one("select lanework.resume_all('ann')") is False
    assert [c.id for c in engine.claim(worker, lane, kind(engine))] == jobs[:1]
    assert engine.claim(worker, default, kind(engine, "u")) == [], "its own drain stays"


def test_a_claim_does_not_pass_a_drain_of_everything(engine: Engine, another: Any, lane: int) -> None:
    worker, one, two = engine.worker(), another(), another()
    engine.enqueue("t"), engine.enqueue("t")
    with one.db.transaction():
        assert len(one.claim(worker, lane, kind(engine))) == 1
        drain = Beside(engine, two, lambda: two.one("select lanework.drain_all('ann')"))
        assert drain.blocked, "it answers when no claim can have missed it"
    assert drain.result() is True
    assert engine.claim(worker, lane, kind(engine), used=1) == []
