"""Birth, beats and death of workers; leadership."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.engine import Claim, Engine
from tests.sql.proof import move


def running(engine: Engine, worker: int, jobs: int = 1, no: int | None = None) -> list[Claim]:
    """Jobs of type `t` in lane `l`, claimed by this worker."""
    found = engine.rows("select l.id lane, t.id kind from lanework.lanes l join lanework.job_types t on t.lane = l.name")
    lane, kind = (found[0]["lane"], found[0]["kind"]) if found else (engine.lane("l", None), engine.type("t", "l"))
    for _ in range(jobs):
        engine.enqueue("t")
    return engine.claim(worker, lane, kind, no=no, want=jobs)


def test_a_beat_gives_back_what_the_worker_does_not_know(engine: Engine) -> None:
    worker = engine.worker()
    known, lost = running(engine, worker, 2, no=1), running(engine, worker, 2, no=2)
    engine.beat(worker, open=[1], told=2)
    assert [engine.status(c.id) for c in known + lost] == ["running", "running", "approved", "approved"]
    assert [row["no"] for row in engine.rows("select no from lanework.claims")] == [1]
    assert engine.job(lost[0].id)["tries_used"] == 0 and engine.completed(worker, *lost) == 0


def test_a_beat_leaves_numbers_it_was_not_told(engine: Engine) -> None:
    worker = engine.worker()
    (claim,) = running(engine, worker, no=7)
    engine.beat(worker, open=[], told=6)
    assert engine.status(claim.id) == "running"


def test_a_late_claim_is_found_by_the_next_beat(engine: Engine) -> None:
    """The claim executes after the worker gave it up, and beat without it."""
    worker = engine.worker()
    engine.beat(worker, open=[], told=5)
    (claim,) = running(engine, worker, no=5)
    engine.beat(worker, open=[], told=5)
    assert engine.status(claim.id) == "approved"


def test_a_closed_claim_whose_jobs_have_ended_is_forgotten(engine: Engine) -> None:
    worker = engine.worker()
    claims = running(engine, worker, 3, no=1)
    engine.completed(worker, *claims)
    engine.beat(worker, open=[1], told=1)
    assert engine.one("select count(*) from lanework.claims") == 1
    engine.beat(worker, open=[], told=1)
    assert engine.one("select count(*) from lanework.claims") == 0


def test_a_beat_tells_what_to_stop(engine: Engine) -> None:
    worker, other = engine.worker(), engine.worker()
    (claim,), _ = running(engine, worker, no=1), running(engine, other, no=1)
    engine.cancel(claim.id, "enough")
    assert engine.beat(other, open=[1]) == []
    (stop,) = engine.beat(worker, open=[1])
    assert (stop["kind"], stop["job_id"], stop["attempt"], stop["reason"]) == ("cancel", claim.id, 1, "enough")


def test_a_cancel_survives_the_death_of_the_worker(engine: Engine) -> None:
    worker = engine.worker()
    (claim,) = running(engine, worker)
    engine.cancel(claim.id)
    engine.end_worker(worker)
    assert engine.status(claim.id) == "cancelled"


def test_an_ended_worker_is_told_so_and_leaves_nothing(engine: Engine) -> None:
    worker = engine.worker()
    claims = running(engine, worker, 3)
    assert engine.lead(worker)
    assert engine.end_worker(worker, "stopped") == (3, 0)
    assert engine.beat(worker)[0]["kind"] == "retired"
    assert {engine.status(c.id) for c in claims} == {"approved"}
    for table in ("claims", "lane_use", "type_use"):
        assert engine.one(f"select count(*) from lanework.{table}") == 0, table
    assert engine.lead(engine.worker()), "its leadership ends with it"


def test_late_calls_of_an_ended_worker_leave_nothing(engine: Engine) -> None:
    """A zombie wakes up and tells how many bodies it has: the lane of the living may not lose slots to it."""
    worker = engine.worker()
    (claim,) = running(engine, worker)
    lane, kind = engine.job(claim.id)["lane_id"], engine.job(claim.id)["type_id"]
    engine.end_worker(worker)
    for want in (0, 1):
        with pytest.raises(psycopg.Error) as error:
            engine.claim(worker, lane, kind, want=want, used=5, capped={kind: 5}, done=[claim])
        assert error.value.sqlstate == "LW401"
    assert engine.used(lane) == 0
    assert engine.one("select count(*) from lanework.type_use") == 0


def test_the_dead_stay_dead(engine: Engine) -> None:
    worker = engine.worker()
    engine.end_worker(worker, "dead")
    engine.end_worker(worker, "stopped")
    assert engine.one("select state from lanework.workers where id = %s", worker) == "dead"


@pytest.mark.parametrize(("executor", "suspect"), [("async", True), ("thread", True), ("process", False)])
def test_jobs_of_a_shared_process_become_suspects(engine: Engine, executor: str, suspect: bool) -> None:
    lane, kind, worker = engine.lane("l"), engine.type("t", "l", executor=executor), engine.worker()
    job = engine.enqueue("t")
    engine.claim(worker, lane, kind)
    engine.end_worker(worker, suspect=True)
    assert engine.job(job)["suspect"] is suspect and engine.job(job)["losses"] == 0


def test_silence_is_death_and_only_silence(engine: Engine) -> None:
    silent, beating, reaper = engine.worker(), engine.worker(), engine.worker()
    lost, kept = running(engine, silent, 2, no=1), running(engine, beating, 2, no=1)
    for _ in range(3):
        move(engine, seconds=0.6)
        engine.beat(beating, open=[1]), engine.beat(reaper)
    assert engine.reap(reaper) == {silent}
    assert {engine.status(c.id) for c in lost} == {"approved"} and {engine.status(c.id) for c in kept} == {"running"}
    assert engine.beat(silent, open=[1])[0]["kind"] == "retired"
    assert engine.completed(silent, *lost) == 0


def test_a_reaper_with_a_gap_of_its_own_declares_nobody_dead(engine: Engine) -> None:
    """After an outage everybody was silent."""
    other, reaper = engine.worker(), engine.worker()
    move(engine, minutes=5)
    engine.beat(reaper, gap="1 s")
    assert engine.reap(reaper) == set()
    move(engine, seconds=0.7)
    engine.beat(reaper, gap="1 s"), engine.beat(other)
    move(engine, seconds=0.7)
    engine.beat(reaper, gap="1 s")
    assert engine.reap(reaper) == set()


def test_leadership_is_a_lease(engine: Engine) -> None:
    one, two = engine.worker(), engine.worker()
    lease = timedelta(seconds=10)
    assert engine.lead(one, lease) and not engine.lead(two, lease)
    move(engine, seconds=9)
    assert engine.lead(one, lease) and not engine.lead(two, lease)
    move(engine, seconds=11)
    assert engine.lead(two, lease) and not engine.lead(one, lease)
    assert engine.rows("select worker_id, term from lanework.leader") == [{"worker_id": two, "term": 2}]


def test_a_beat_commits_without_waiting_for_the_disk(engine: Engine) -> None:
    worker = engine.worker()
    engine.rows("set synchronous_commit = on")
    with engine.db.transaction():
        engine.beat(worker)
        assert engine.one("select current_setting('synchronous_commit')") == "off"
    assert engine.one("select current_setting('synchronous_commit')") == "on", "only this commit"
