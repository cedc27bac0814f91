"""Real parallel sessions: slots are exact, nothing deadlocks, nothing is lost, whoever dies."""

from __future__ import annotations

import itertools
import os
import random
import threading

import pytest

from tests.sql.crowd import Crowd, Worker, deadlocks
from tests.sql.engine import Engine
from tests.sql.proof import complaints, wipe

CHAOS = os.environ.get("LANEWORK_CHAOS") == "1"
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)] if CHAOS else []
SEEDS = range(1000, 1020) if CHAOS else range(1000, 1001)
JOBS = 1500 if CHAOS else 150


def peak(engine: Engine, column: str = "in_lane") -> int:
    return int(engine.one(f"select coalesce(max({column}), 0) from proof.load"))


@pytest.fixture
def timed(engine: Engine) -> Engine:
    """Time runs here."""
    wipe(engine)
    return engine


def empty(engine: Engine) -> bool:
    return bool(engine.one("select not exists (select from lanework.jobs)"))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("slots", [1, 2, 5])
def test_eight_workers_never_exceed_the_slots(timed: Engine, shared_database: str, slots: int, seed: int) -> None:
    lane, kinds = timed.lane("l", slots), [timed.type(f"t{n}", "l") for n in range(3)]
    for n in range(JOBS):
        timed.enqueue(f"t{n % 3}", priority=n % 2)
    crowd = Crowd(shared_database, seed)
    for n in range(8):
        crowd.add(Worker({lane: kinds if n % 2 else kinds[:2] if n % 4 else kinds[2:]}))
    crowd.work(lambda: empty(timed))
    assert complaints(timed) == []
    assert peak(timed) == slots
    assert set(crowd.errors) <= {"55P03"}, crowd.errors


@pytest.mark.parametrize("seed", SEEDS)
def test_one_slot_keeps_the_order(timed: Engine, shared_database: str, seed: int) -> None:
    """Promise 32: with one slot jobs start in order of priority, created_at, id; here with releases in between."""
    lane, kinds = timed.lane("l", 1), [timed.type(f"t{n}", "l") for n in range(2)]
    rng = random.Random(seed)
    jobs = [(-(p := rng.randint(0, 3)), timed.enqueue(f"t{rng.randint(0, 1)}", priority=p)) for _ in range(JOBS)]
    crowd = Crowd(shared_database, seed)
    for _ in range(4):
        crowd.add(Worker({lane: kinds}, endings=("completed", "completed", "release")))
    crowd.work(lambda: empty(timed))
    starts = [row["job_id"] for row in timed.rows("select job_id from proof.life where status = 'running' order by seq")]
    first_starts = list(dict.fromkeys(starts))
    assert first_starts == [job for _, job in sorted(jobs)]
    again = [a for a, b in itertools.pairwise(starts) if first_starts.index(b) < first_starts.index(a)]
    assert again == [], "a released job is the first again"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_storm(timed: Engine, shared_database: str, seed: int) -> None:
    """Workers that retry, snooze, forget and die; cancels, sweeps, promotions, reaps, changing lanes; then healing."""
    a, b = timed.lane("a", 3), timed.lane("b", 2)
    x, y, z = timed.type("x", "a"), timed.type("y", "a", concurrency=1), timed.type("z", "b")
    endings = ("completed", "retry", "snooze", "release", "fail", "cancel")
    jobs = [timed.enqueue("xyz"[n % 3], priority=n % 3, max_tries=4) for n in range(JOBS)]
    workers = [Worker({a: [x, y], b: [z]}, endings, (y,), forgets=0.1) for _ in range(6)]
    before = deadlocks(timed)
    crowd = Crowd(shared_database, seed)
    for worker in workers:
        crowd.add(worker)
    healing = threading.Event()

    def killer(engine: Engine, rng: random.Random) -> None:
        engine.db.execute("select pg_sleep(0.02)")
        victim = rng.choice(workers).id
        if victim and not healing.is_set():
            engine.end_worker(victim, "dead", suspect=rng.random() < 0.5)
        engine.reap(0)

    def operator(engine: Engine, rng: random.Random) -> None:
        engine.db.execute("select pg_sleep(0.005)")
        if not healing.is_set():
            engine.cancel(rng.choice(jobs))
            engine.rows("select lanework.set_lane('a', %s::jsonb, 'me', false)", f'{{"max_slots": {rng.randint(1, 4)}}}')

    def upkeep(engine: Engine, rng: random.Random) -> None:
        engine.promote(), engine.sweep(), engine.rows("select lanework.merge_rollups()")
        engine.rows("select * from lanework.look(null, '{}')")

    for member in (killer, operator, operator, upkeep, upkeep):
        crowd.add(member)

    def rested() -> bool:
        if timed.one("select count(*) from lanework.jobs") < JOBS // 3:
            healing.set()
        return empty(timed)

    crowd.work(rested, seconds=240 if CHAOS else 60)
    assert complaints(timed) == []
    ended = timed.one("select (select count(*) from lanework.jobs_done) + (select count(*) from lanework.jobs_failed)")
    assert ended == JOBS
    assert deadlocks(timed) == before and "40P01" not in crowd.errors, crowd.errors
    assert set(crowd.errors) <= {"55P03"}, crowd.errors


def test_submits_with_shared_keys_make_one_job_each(timed: Engine, shared_database: str) -> None:
    timed.type("t")
    crowd = Crowd(shared_database, 7)

    def submitter(engine: Engine, rng: random.Random) -> None:
        for _ in range(60):
            with engine.db.transaction(force_rollback=rng.random() < 0.3):
                engine.enqueue("t", idempotency_key=f"k{rng.randint(0, 30)}")

    for _ in range(6):
        crowd.add(submitter, loop=False)
    crowd.work(lambda: not any(t.is_alive() for t in crowd._threads))
    assert crowd.errors == {}
    assert timed.one("select count(*) from lanework.jobs") == timed.one("select count(*) from lanework.keys")
    assert timed.one("select count(*) from lanework.jobs j join lanework.keys k on k.job_id = j.id") == 31
