"""Metrics in SQL: every change is counted once, whoever leads, dies or merges."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanework import metrics
from tests.sql import truth
from tests.sql.conftest import Another
from tests.sql.crowd import Crowd, Worker
from tests.sql.engine import Claim, Engine
from tests.sql.interleave import Beside
from tests.sql.proof import complaints, move, wipe

# metrics


def test_every_change_is_told_and_counted_once(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()

    def running(jobs: int = 1) -> list[Claim]:
        for _ in range(jobs):
            engine.enqueue("t")
        return engine.claim(worker, lane, kind, want=jobs)

    first, second, third = running(3)
    engine.completed(worker, first, third)
    engine.completed(worker, second)
    for action in ("retry", "release", "snooze", "fail", "cancel"):
        engine.settle(worker, *running(2), action=action, delay_s=60.0 if action == "snooze" else 0.0, error_class="permanent")
        engine.settle(worker, *engine.claim(worker, lane, kind, want=9), action="fail", error_class="transient")
    engine.cancel(engine.enqueue("t"))
    running()
    engine.end_worker(worker)
    truth.check(engine)


def test_events_and_metrics_are_the_truth_in_a_storm(engine: Engine, shared_database: str) -> None:
    """Workers that retry, forget and die, cancels, transactions that commit late, several mergers at once, and time that flies."""
    wipe(engine)
    a, b = engine.lane("a", 4), engine.lane("b", 3)
    x, y, z = engine.type("x", "a"), engine.type("y", "a"), engine.type("z", "b")
    jobs = [engine.enqueue("xyz"[n % 3], max_tries=4) for n in range(90)]
    crowd = Crowd(shared_database, 11)
    workers = [
        Worker({a: [x, y], b: [z]}, ("completed", "completed", "retry", "snooze", "release", "fail", "cancel"), forgets=0.1)
        for _ in range(5)
    ]
    for worker in workers:
        crowd.add(worker)
    healing = threading.Event()

    def trouble(db: Engine, rng: random.Random) -> None:
        db.rows("select pg_sleep(0.02)")
        if not healing.is_set():
            db.cancel(rng.choice(jobs))
            db.end_worker(rng.choice(workers).id, "dead")
        db.reap(0), db.promote(), db.sweep()

    def late(db: Engine, rng: random.Random) -> None:
        """A user's transaction that submits, and commits when its minute is long over."""
        with db.db.transaction(force_rollback=rng.random() < 0.3):
            if not healing.is_set():
                db.enqueue("xyz"[rng.randint(0, 2)])
            db.rows("select pg_sleep(0.05)")

    def merger(db: Engine, rng: random.Random) -> None:
        db.rows("select lanework.merge_rollups(7)")

    def time_flies(db: Engine, rng: random.Random) -> None:
        db.rows("select pg_sleep(0.05)")
        move(db, seconds=150)

    for member in (trouble, late, late, merger, merger, merger, time_flies):
        crowd.add(member)

    def rested() -> bool:
        if not healing.is_set() and engine.one("select count(*) from lanework.jobs_done") > 60:
            healing.set()
        return healing.is_set() and bool(engine.one("select not exists (select from lanework.jobs)"))

    crowd.work(rested, seconds=60)
    assert complaints(engine) == []
    assert set(crowd.errors) <= {"55P03"}, crowd.errors
    truth.check(engine)
    merge_all(engine)
    assert engine.one("select max(writer) from lanework.rollups") == 0
    assert engine.one("select coalesce(max(writer), 0) from lanework.error_rollups") == 0
    truth.check(engine)


def merge_all(engine: Engine) -> None:
    move(engine, minutes=10)
    while engine.one("select lanework.merge_rollups()"):
        pass


def test_merging_adds_to_what_was_merged_before(engine: Engine) -> None:
    engine.type("t")
    for _ in range(3):
        engine.enqueue("t")
        move(engine, minutes=10)
        assert engine.one("select lanework.merge_rollups()") == 1
        move(engine, minutes=-10)
    (row,) = engine.rows("select writer, submitted from lanework.rollups")
    assert (row["writer"], row["submitted"]) == (0, 3)


def test_two_leaders_merge_each_row_once(engine: Engine, another: Another) -> None:
    engine.type("t")
    one, two = another(), another()
    for db in (one, two, engine):
        db.enqueue("t")
    move(engine, minutes=10)
    with one.db.transaction():
        assert one.one("select lanework.merge_rollups(2)") == 2
        beside = Beside(engine, two, lambda: two.one("select lanework.merge_rollups()"))
    assert beside.result() == 1
    (row,) = engine.rows("select writer, submitted from lanework.rollups")
    assert (row["writer"], row["submitted"]) == (0, 3)


def test_metrics_of_a_span_in_steps(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()
    start = engine.one("select lanework.now()")
    for minute in range(3):
        for _ in range(minute + 1):
            engine.enqueue("t")
        move(engine, seconds=2)
        claims = engine.claim(worker, lane, kind, want=10)
        move(engine, seconds=0.5)
        engine.completed(worker, *claims)
        move(engine, seconds=57.5)
    rows = engine.rows("select * from lanework.read_metrics(%s, lanework.now(), interval '1 min', null, null)", start)
    assert [(row["lane"], row["type"], row["submitted"], row["completed"]) for row in rows] == [("l", "t", n, n) for n in (1, 2, 3)]
    (row,) = engine.rows("select * from lanework.read_metrics(%s, lanework.now(), null, '{l}', '{t}')", start)
    assert (row["submitted"], row["started"], row["wait_s"], row["run_s"]) == (6, 6, 12, 3)
    assert 2 / 1.42 < (metrics.percentile(row["wait_hist"], 0.5) or 0) < 2 * 1.42
    assert 0.5 / 1.42 < (metrics.percentile(row["run_hist"], 0.99) or 0) < 0.5 * 1.42
    assert engine.rows("select * from lanework.read_metrics(%s, lanework.now(), null, '{other}', null)", start) == []
    engine.rows("select lanework.add_spend(%s, %s, 1.25), lanework.add_spend(%s, %s, 0.5)", lane, kind, lane, kind)
    assert float(engine.one("select sum(spend) from lanework.rollups")) == 1.75


def test_metrics_leave_after_their_time(engine: Engine) -> None:
    engine.type("t")
    engine.enqueue("t")
    move(engine, days=89)
    engine.rows("select lanework.prune()")
    assert engine.one("select count(*) from lanework.rollups") == 1
    move(engine, days=2)
    engine.rows("select lanework.prune()")
    assert engine.one("select count(*) from lanework.rollups") == 0


# histograms


def test_python_and_sql_have_the_same_bounds(engine: Engine) -> None:
    bounds = [float(row["b"]) for row in engine.rows("select extract(epoch from b) as b from unnest(lanework.bucket_bounds()) b")]
    assert bounds == pytest.approx(list(metrics.BOUNDS), abs=1e-6)


durations = st.lists(st.floats(0, 3e6, allow_nan=False), max_size=60)


def histogram(values: list[float]) -> tuple[int, ...]:
    places = [sum(value >= bound for bound in metrics.BOUNDS) for value in values]
    return tuple(places.count(place) for place in range(max(places, default=-1) + 1))


@given(durations, durations)
def test_a_merged_histogram_is_that_of_all(one: list[float], other: list[float]) -> None:
    assert metrics.merged(histogram(one), histogram(other)) == histogram(one + other)
    assert metrics.merged(histogram(other), histogram(one)) == histogram(one + other)


@given(st.lists(st.floats(0.001, 2e6), min_size=1, max_size=60), st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_off_by_a_place_at_most(values: list[float], share: float) -> None:
    rank = max(int(-(-share * len(values) // 1)) - 1, 0)
    exact, found = sorted(values)[rank], metrics.percentile(histogram(values), share)
    assert found is not None and exact / 1.4143 <= found <= exact * 1.4143


def test_sql_merges_as_python_does(engine: Engine) -> None:
    rng = random.Random(3)
    for _ in range(50):
        one, other = (histogram([rng.lognormvariate(0, 3) for _ in range(rng.randint(0, 20))]) for _ in range(2))
        assert tuple(engine.one("select lanework.add_histogram(%s::int[], %s::int[])", list(one), list(other))) == metrics.merged(
            one, other
        )
        summed = "select lanework.sum_histogram(h) from (values (%s::int[]), (%s::int[]), (null)) x(h)"
        assert tuple(engine.one(summed, list(one), list(other))) == metrics.merged(one, other)
        values = [rng.lognormvariate(0, 4) for _ in range(20)]
        sql = """select lanework.histogram(array_agg(p), array_agg(1::bigint)) from (
                     select width_bucket(make_interval(secs => v), lanework.bucket_bounds()) as p from unnest(%s::float8[]) v) x"""
        assert tuple(engine.one(sql, values)) == histogram(values)
