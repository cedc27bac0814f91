"""Claiming: slots, order, ranges, versions, limits of a type."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.sql.engine import Engine, Range, numbers
from tests.sql.proof import move


def test_a_claim_stamps_the_row(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", 2), engine.type("t", "l"), engine.worker()
    job = engine.enqueue("t", {"a": 1}, priority=7)
    (row,) = engine.claim_rows(worker, lane, kind, no=1)
    assert (row["id"], row["attempt"], row["rank"], row["tries_used"]) == (job, 1, -7, 0)
    stored = engine.job(job)
    assert (stored["status"], stored["worker_id"], stored["lane_id"]) == ("running", worker, lane)
    assert engine.used(lane) == 1


def test_order_is_priority_then_created_at_then_id(engine: Engine) -> None:
    lane, worker = engine.lane("l", 1), engine.worker()
    kinds = [engine.type("a", "l"), engine.type("b", "l")]
    low, late = engine.enqueue("a"), None
    move(engine, seconds=-60)
    early = engine.enqueue("b")
    move(engine, seconds=120)
    late, high = engine.enqueue("a"), engine.enqueue("b", priority=10)
    order, done = [], None
    while claims := engine.claim(worker, lane, *kinds, done=done):
        order += [c.id for c in claims]
        done = claims
    assert order == [high, early, low, late]


@pytest.mark.parametrize("kinds", [1, 2, 5])
@pytest.mark.parametrize("want", [1, 3, 50])
def test_a_batch_is_a_prefix_of_the_order(engine: Engine, kinds: int, want: int) -> None:
    lane, worker = engine.lane("l", None), engine.worker()
    types = [engine.type(f"t{n}", "l") for n in range(kinds)]
    jobs = [(-(n % 3), engine.enqueue(f"t{n * 7 % kinds}", priority=n % 3)) for n in range(30)]
    expected = [job for _, job in sorted(jobs)]
    got: list[int] = []
    while claims := engine.claim(worker, lane, *types, want=want, used=len(got)):
        assert len(claims) <= want
        got += sorted((c.id for c in claims), key=expected.index)
    assert got == expected


def test_a_batch_does_not_overtake_a_type_that_has_more(engine: Engine) -> None:
    """One job of one type, many old ones of another, few newer ones of many: the newer ones wait, however the batch is put
    together."""
    lane, worker = engine.lane("l", None), engine.worker()
    types = [engine.type(f"t{n}", "l") for n in range(40)]
    old = [engine.enqueue("t1"), *(engine.enqueue("t0") for _ in range(50))]
    for n in range(2, 40):
        engine.enqueue(f"t{n}")
    got = [c.id for c in engine.claim(worker, lane, *types, want=40)]
    assert got and sorted(got) == old[: len(got)]


@pytest.mark.parametrize(("slots", "worker_slots", "used", "others", "want", "free"), [
    (5, None, 0, 0, 9, 5), (5, None, 2, 2, 9, 1), (5, None, 0, 5, 9, 0), (5, None, 0, 9, 9, 0), (0, None, 0, 0, 9, 0),
    (None, None, 0, 90, 9, 9), (None, 2, 0, 90, 9, 2), (None, 2, 2, 0, 9, 0), (5, 2, 1, 3, 9, 1), (5, 9, 0, 0, 3, 3),
])  # fmt: skip
def test_free_slots(
    engine: Engine, slots: int | None, worker_slots: int | None, used: int, others: int, want: int, free: int
) -> None:
    lane, kind = engine.lane("l", slots, worker_slots), engine.type("t", "l")
    worker, other = engine.worker(), engine.worker()
    engine.claim(other, lane, kind, want=0, used=others)
    for _ in range(10):
        engine.enqueue("t")
    assert len(engine.claim(worker, lane, kind, want=want, used=used)) == free


def test_free_slots_of_a_shared_lane(engine: Engine) -> None:
    lane, kind = engine.lane("l", 2), engine.type("t", "l")
    for _ in range(5):
        engine.enqueue("t")
    assert [len(engine.claim(engine.worker(), lane, kind)) for _ in range(4)] == [1, 1, 0, 0]


def test_a_drained_lane_claims_nothing_and_resumes(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l"), engine.type("t", "l"), engine.worker()
    engine.enqueue("t")
    engine.rows("update lanework.lanes set enabled = false where id = %s", lane)
    assert engine.claim(worker, lane, kind) == []
    engine.rows("update lanework.lanes set enabled = true where id = %s", lane)
    assert len(engine.claim(worker, lane, kind)) == 1


def test_lowered_slots_stop_nothing_and_start_nothing(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", 3), engine.type("t", "l"), engine.worker()
    jobs = [engine.enqueue("t") for _ in range(4)]
    claims = engine.claim(worker, lane, kind, want=3)
    engine.rows("update lanework.lanes set max_slots = 1 where id = %s", lane)
    assert engine.claim(worker, lane, kind, used=2, done=claims[:1]) == []
    assert [engine.status(j) for j in jobs] == ["completed", "running", "running", "approved"]
    assert len(engine.claim(worker, lane, kind, used=0, done=claims[1:])) == 1


def test_a_type_belongs_to_the_lane_of_its_row(engine: Engine) -> None:
    a, b, kind, worker = engine.lane("a", 1), engine.lane("b", 1), engine.type("t", "a"), engine.worker()
    first, second = engine.enqueue("t"), engine.enqueue("t")
    assert engine.claim(worker, b, kind) == []
    assert [c.id for c in engine.claim(worker, a, kind)] == [first]
    engine.rows("update lanework.job_types set lane = 'b' where id = %s", kind)
    assert engine.claim(worker, a, kind, used=1) == []
    assert [c.id for c in engine.claim(worker, b, kind)] == [second], "slots belong to the lane that claimed"


def test_a_claim_starts_behind_a_position_and_below_a_rank(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()
    first, second = engine.enqueue("t"), engine.enqueue("t")
    third = engine.enqueue("t", priority=-5)
    at = engine.one("select created_at from lanework.jobs where id = %s", first)
    assert [c.id for c in engine.claim(worker, lane, Range(kind, (0, at, first), below=1), want=9)] == [second]
    assert [c.id for c in engine.claim(worker, lane, Range(kind, (1, at, 0)), want=9, used=1)] == [third]
    assert [c.id for c in engine.claim(worker, lane, kind, want=9, used=2)] == [first], "a rescan finds what was left"


def test_newer_payloads_are_left_for_newer_workers(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()
    new, old = engine.enqueue("t", version=2), engine.enqueue("t", version=1)
    assert [c.id for c in engine.claim(worker, lane, Range(kind, version=1), want=9)] == [old]
    assert [c.id for c in engine.claim(worker, lane, Range(kind, version=2), want=9, used=1)] == [new]


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_a_types_own_limit_holds_over_workers(engine: Engine, told: bool) -> None:
    """A worker that has not heard of the limit yet does not say how many it runs, and is given none."""
    lane, worker, other = engine.lane("l", None), engine.worker(), engine.worker()
    kind, free = engine.type("t", "l", concurrency=2), engine.type("free", "l")
    for _ in range(5):
        engine.enqueue("t")
        engine.enqueue("free")
    known = {kind: 0} if told else None
    mine = engine.claim(worker, lane, kind, free, want=4, capped=known)
    theirs = engine.claim(other, lane, kind, free, want=6, capped=known)
    running = engine.one("select count(*) from lanework.jobs where status = 'running' and type_id = %s", kind)
    assert running == (2 if told else 0), (mine, theirs)


def test_a_types_limit_frees_with_the_finish(engine: Engine) -> None:
    lane, worker, other = engine.lane("l", None), engine.worker(), engine.worker()
    kind = engine.type("t", "l", concurrency=1)
    first, second = engine.enqueue("t"), engine.enqueue("t")
    (claim,) = engine.claim(worker, lane, kind, want=5, capped={kind: 0})
    assert engine.claim(other, lane, kind, want=5, capped={kind: 0}) == []
    assert engine.claim(worker, lane, kind, want=0, used=0, capped={kind: 0}, done=[claim]) == []
    assert [c.id for c in engine.claim(other, lane, kind, capped={kind: 0})] == [second]
    assert engine.status(first) == "completed"


def test_an_idle_worker_does_not_keep_a_slot(engine: Engine) -> None:
    """A run that ended by `settle` lowers the use with the worker's next call, also when that call claims nothing."""
    lane, mine, theirs = engine.lane("l", 1), engine.type("mine", "l"), engine.type("theirs", "l")
    worker, other = engine.worker(), engine.worker()
    engine.enqueue("mine")
    (claim,) = engine.claim(worker, lane, mine)
    engine.settle(worker, claim, action="fail")
    engine.enqueue("theirs")
    assert engine.claim(worker, lane, mine, used=0) == []
    assert len(engine.claim(other, lane, theirs)) == 1


def test_fences_rise_across_jobs_and_epochs(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()
    fences = []
    for epoch in (0, 0, 1):
        engine.rows("update lanework.facts set value = %s where name = 'fence_epoch'", epoch)
        engine.enqueue("t")
        fences += [row["fence"] for row in engine.claim_rows(worker, lane, kind)]
    assert fences == sorted(set(fences)) and len(fences) == 3


def test_only_an_active_worker_claims(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l"), engine.type("t", "l"), engine.worker()
    engine.enqueue("t")
    draining = engine.worker()
    engine.rows("update lanework.workers set state = 'draining' where id = %s", draining)
    assert engine.claim(draining, lane, kind) == []
    engine.end_worker(draining)
    for state in ("stopped", "dead"):
        engine.rows("update lanework.workers set state = %s where id = %s", state, worker)
        with pytest.raises(psycopg.Error) as caught:
            engine.claim(worker, lane, kind)
        assert caught.value.sqlstate == "LW401"


def test_a_late_word_about_bodies_sets_nothing(engine: Engine) -> None:
    """Two calls of one worker at the same moment: whichever comes last, the number of the later one stays."""
    lane, worker = engine.lane("l"), engine.worker()
    use = "select lanework.use_lane(%s, %s, %s, %s)"
    assert engine.one(use, lane, worker, 3, 10) is True
    assert engine.one(use, lane, worker, 5, 9) is False
    assert engine.used(lane) == 3


def test_a_late_claim_does_not_forget_newer_bodies(engine: Engine) -> None:
    """A claim whose client gave up runs after the worker's newer calls: it may not set the worker's use back."""
    lane, kind, worker, other = engine.lane("l", 3), engine.type("t", "l"), engine.worker(), engine.worker()
    for _ in range(9):
        engine.enqueue("t")
    late_call = next(numbers)
    assert len(engine.claim(worker, lane, kind, want=2)) == 2
    late = engine.claim(worker, lane, kind, call=late_call, want=1, used=0)
    bodies = 2 + len(engine.claim(other, lane, kind, want=9))
    assert bodies <= 3, f"{bodies} bodies in 3 slots after the late claim of {late}"


def test_a_busy_lane_lock_does_not_undo_the_finishes(engine: Engine, another: Callable[..., Engine]) -> None:
    lane, kind, worker, holder = engine.lane("l", 1), engine.type("t", "l"), engine.worker(), another()
    job = engine.enqueue("t")
    (claim,) = engine.claim(worker, lane, kind)
    engine.enqueue("t")
    with holder.db.transaction():
        holder.rows("select lanework.lane_lock(%s)", lane)
        assert engine.claim(worker, lane, kind, done=[claim]) == []
    assert engine.status(job) == "completed"
