"""What happens when two verbs meet, each meeting in each order. `beside` is the second session."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.sql.engine import Claim, Engine, numbers
from tests.sql.interleave import Beside
from tests.sql.proof import move

Another = Callable[..., Engine]


class Scene:
    """A lane of one slot with two types, two workers, two sessions besides the watching one."""

    def __init__(self, engine: Engine, another: Another, slots: int | None = 1) -> None:
        self.watcher, self.one, self.two = engine, another(), another()
        self.lane = engine.lane("l", slots)
        self.kind, self.other_kind = engine.type("t", "l"), engine.type("u", "l")
        self.worker, self.other_worker = engine.worker("one"), engine.worker("two")

    def running(self, jobs: int = 1) -> list[Claim]:
        for _ in range(jobs):
            self.watcher.enqueue("t")
        return self.watcher.claim(self.worker, self.lane, self.kind, want=jobs)

    def beside(self, engine: Engine, call: Callable[[], object]) -> Beside[object]:
        return Beside(self.watcher, engine, call)


@pytest.fixture
def scene(engine: Engine, another: Another) -> Scene:
    return Scene(engine, another)


@pytest.fixture
def wide(engine: Engine, another: Another) -> Scene:
    return Scene(engine, another, slots=None)


def test_a_slot_count_is_never_stale(scene: Scene) -> None:
    """E1: the second claimer must see what the first one took, although it began before that committed."""
    scene.watcher.enqueue("t"), scene.watcher.enqueue("u")
    with scene.one.db.transaction():
        assert len(scene.one.claim(scene.worker, scene.lane, scene.kind)) == 1
        second = scene.beside(scene.two, lambda: scene.two.claim(scene.other_worker, scene.lane, scene.other_kind))
    assert second.result() == []
    assert scene.watcher.used(scene.lane) == 1


def test_repeatable_read_is_refused(scene: Scene, another: Another) -> None:
    """There a claim would count with a snapshot from before it had the lane's lock."""
    scene.watcher.enqueue("t"), scene.watcher.enqueue("u")
    third = another(options="-c default_transaction_isolation=repeatable\\ read")
    with pytest.raises(psycopg.Error) as caught:
        third.claim(scene.other_worker, scene.lane, scene.other_kind)
    assert caught.value.sqlstate == "LW100"


def test_a_claim_in_flight_when_its_worker_is_declared_dead(scene: Scene) -> None:
    """E41: declared dead while the claim is on its way: the declaration waits, and takes it back."""
    job = scene.watcher.enqueue("t")
    with scene.one.db.transaction():
        scene.one.claim(scene.worker, scene.lane, scene.kind)
        ending = scene.beside(scene.two, lambda: scene.two.end_worker(scene.worker))
        assert ending.blocked
    assert ending.result() == (1, 0)
    assert scene.watcher.status(job) == "approved"


def test_a_claim_that_comes_after_the_declaration(scene: Scene) -> None:
    job = scene.watcher.enqueue("t")
    with scene.one.db.transaction():
        scene.one.end_worker(scene.worker)
        late = scene.beside(scene.two, lambda: scene.two.claim(scene.worker, scene.lane, scene.kind))
        assert late.blocked
    with pytest.raises(psycopg.Error) as caught:
        late.result()
    assert caught.value.sqlstate == "LW401" and scene.watcher.status(job) == "approved"


def test_a_joint_call_takes_the_worker_row_before_anything_that_its_end_deletes(scene: Scene) -> None:
    scene.watcher.rows("update lanework.job_types set concurrency = 5")
    scene.watcher.enqueue("t")
    (claim,) = scene.watcher.claim(scene.worker, scene.lane, scene.kind, capped={scene.kind: 0})
    capped = {scene.kind: 0}
    with scene.one.db.transaction():
        scene.one.rows("select from lanework.workers where id = %s for update", scene.worker)
        call = scene.beside(scene.two, lambda: scene.two.claim(
            scene.worker, scene.lane, scene.kind, capped=capped, done=[claim]))  # fmt: skip
        assert call.blocked
        assert scene.one.end_worker(scene.worker) == (1, 0)
    with pytest.raises(psycopg.Error) as caught:
        call.result()
    assert caught.value.sqlstate == "LW401"


def test_a_beat_passes_a_claim_in_flight(scene: Scene) -> None:
    scene.watcher.enqueue("t")
    with scene.one.db.transaction():
        scene.one.claim(scene.worker, scene.lane, scene.kind, no=1)
        beat = scene.beside(scene.two, lambda: scene.two.beat(scene.worker, open=[1]))
        assert not beat.blocked and beat.result() == []


def test_a_late_call_beside_a_newer_one(scene: Scene) -> None:
    scene.watcher.claim(scene.worker, scene.lane, scene.kind, want=0, used=0)
    scene.watcher.enqueue("t"), scene.watcher.enqueue("t")
    late = next(numbers)
    with scene.one.db.transaction():
        scene.one.claim(scene.worker, scene.lane, scene.kind)
        call = scene.beside(scene.two, lambda: scene.two.claim(
            scene.worker, scene.lane, scene.kind, call=late, want=0, used=0))  # fmt: skip
    call.result()
    assert scene.watcher.used(scene.lane) == 1, "the newer number stays"


def test_a_finish_before_the_reaper(scene: Scene) -> None:
    (claim,) = scene.running()
    with scene.one.db.transaction():
        assert scene.one.completed(scene.worker, claim) == 1
        assert scene.two.end_worker(scene.worker) == (0, 1), "a locked row is left for the next call"
    assert scene.two.end_worker(scene.worker) == (0, 0)
    assert scene.watcher.status(claim.id) == "completed"


def test_the_reaper_before_a_finish(scene: Scene) -> None:
    (claim,) = scene.running()
    with scene.one.db.transaction():
        assert scene.one.end_worker(scene.worker) == (1, 0)
        finish = scene.beside(scene.two, lambda: scene.two.completed(scene.worker, claim))
        assert finish.blocked
    assert finish.result() == 0 and scene.watcher.status(claim.id) == "approved"


@pytest.mark.parametrize("write", ["progress", "log", "checkpoint"])
def test_whoever_ends_a_claim_waits_for_its_writes(scene: Scene, write: str) -> None:
    (claim,) = scene.running()
    with scene.one.db.transaction():
        assert getattr(scene.one, write)(claim)
        finish = scene.beside(scene.two, lambda: scene.two.settle(scene.worker, claim, action="retry"))
        assert finish.blocked
    assert finish.result() == {claim.id: "approved"}
    assert not getattr(scene.one, write)(claim)


def test_writes_of_one_job_do_not_wait_for_each_other(scene: Scene) -> None:
    (claim,) = scene.running()
    with scene.one.db.transaction():
        scene.one.log(claim)
        other = scene.beside(scene.two, lambda: scene.two.log(claim))
        assert not other.blocked and other.result() == {claim.id}


def test_a_reaper_does_not_wait_for_an_open_write(scene: Scene) -> None:
    (claim,) = scene.running()
    with scene.one.db.transaction():
        scene.one.log(claim)
        reap = scene.beside(scene.two, lambda: scene.two.end_worker(scene.worker))
        assert not reap.blocked and reap.result() == (0, 1)
    assert scene.two.reap(scene.other_worker) == {scene.worker}, "what was left is found by the next reap"
    assert scene.watcher.status(claim.id) == "approved"


def test_a_cancel_that_comes_while_a_retry_is_under_way(scene: Scene) -> None:
    """The retry did not see it any more; it may be carried out late, and never lost."""
    (claim,) = scene.running()
    with scene.one.db.transaction():
        scene.one.log(claim)  # holds up the retry after it has looked for stops
        retry = scene.beside(scene.two, lambda: scene.two.settle(scene.worker, claim, action="retry"))
        assert retry.blocked
        assert scene.watcher.cancel(claim.id) == "stopping"
    assert retry.result() in ({claim.id: "approved"}, {claim.id: "cancelled"})
    scene.watcher.sweep()
    assert scene.watcher.status(claim.id) == "cancelled"


def test_a_cancel_that_comes_while_a_claim_is_under_way(scene: Scene) -> None:
    job = scene.watcher.enqueue("t")
    with scene.one.db.transaction():
        (claim,) = scene.one.claim(scene.worker, scene.lane, scene.kind)
        cancel = scene.beside(scene.two, lambda: scene.two.cancel(job))
        assert cancel.blocked
    assert cancel.result() == "stopping"
    assert scene.watcher.settle(scene.worker, claim, action="release") == {job: "cancelled"}


def test_a_claim_that_comes_while_a_cancel_is_under_way(scene: Scene) -> None:
    job, next_job = scene.watcher.enqueue("t"), scene.watcher.enqueue("t")
    with scene.one.db.transaction():
        scene.one.cancel(job)
        claim = scene.beside(scene.two, lambda: scene.two.claim(scene.worker, scene.lane, scene.kind))
        assert not claim.blocked
    claim.result()
    assert scene.watcher.status(job) == "cancelled" and scene.watcher.status(next_job) == "running"


def test_asking_for_a_cancel_never_waits(scene: Scene) -> None:
    (claim,) = scene.running()
    with scene.one.db.transaction():
        scene.one.completed(scene.worker, claim)
        cancel = scene.beside(scene.two, lambda: scene.two.cancel(claim.id))
        assert not cancel.blocked
    cancel.result()
    assert scene.watcher.status(claim.id) == "completed"
    move(scene.watcher, seconds=11)
    scene.watcher.sweep()
    assert scene.watcher.one("select count(*) from lanework.stops") == 0


@pytest.mark.parametrize("verb", ["completed", "settle"])
def test_batches_lock_in_the_order_of_ids(wide: Scene, verb: str) -> None:
    """Given in another order, they may not meet a batch that locks in that order: a deadlock."""
    low, high = sorted(wide.running(2))
    with wide.one.db.transaction():
        wide.one.log(low)
        batch = wide.beside(wide.two, lambda: getattr(wide.two, verb)(wide.worker, high, low))
        assert batch.blocked
        wide.one.rows("set local lock_timeout = '2s'")
        assert wide.one.log(high) == {high.id}
    batch.result()


@pytest.mark.parametrize("commits", [True, False])
def test_two_submits_with_one_key(scene: Scene, commits: bool) -> None:
    with scene.one.db.transaction():
        first = scene.one.enqueue("t", idempotency_key="k")
        second = scene.beside(scene.two, lambda: scene.two.enqueue("t", idempotency_key="k"))
        assert second.blocked
        if not commits:
            raise psycopg.Rollback
    assert (second.result() == first) is commits
    assert scene.watcher.one("select count(*) from lanework.jobs") == scene.watcher.one("select count(*) from lanework.keys") == 1


def test_two_promoters_and_two_sweepers_share_the_work(scene: Scene) -> None:
    now = scene.watcher.one("select lanework.now()")
    for _ in range(4):
        scene.watcher.rows("select lanework.enqueue('t', run_at => %s + interval '1 min', max_age => '2 min')", now)
    move(scene.watcher, minutes=1)
    with scene.one.db.transaction():
        assert scene.one.promote(2) == 2
        second = scene.beside(scene.two, lambda: scene.two.promote(9))
        assert not second.blocked and second.result() == 2
    move(scene.watcher, minutes=1)
    with scene.one.db.transaction():
        assert scene.one.rows("select * from lanework.sweep(2)") == [{"what": "expired", "count": 2}]
        sweep = scene.beside(scene.two, scene.two.sweep)
        assert not sweep.blocked and sweep.result() == {"expired": 2}


def test_a_new_leader_does_not_wait_for_another_reaper(scene: Scene) -> None:
    """It holds the leader's row: one that ends the old leader at that moment waits for that row, and both would wait for ever."""
    (claim,) = scene.running()
    assert scene.watcher.lead(scene.worker)
    with scene.two.db.transaction():
        scene.two.log(claim)
        assert scene.watcher.end_worker(scene.worker) == (0, 1)
    move(scene.watcher, seconds=11)
    with scene.two.db.transaction():
        scene.two.rows("select from lanework.workers where id = %s for update", scene.worker)
        tend = scene.beside(scene.one, lambda: scene.one.rows("select leads from lanework.tend(%s, '10 s')", scene.other_worker))
        assert scene.two.end_worker(scene.worker) == (1, 0)
        assert not tend.blocked
    assert tend.result() == [{"leads": True}]
