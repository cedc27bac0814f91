"""Sessions where verbs meet: whoever lets the next one go, it is the first that is committed, and one, and nobody is forgotten."""

from __future__ import annotations

import pytest

from tests.sql.conftest import Another
from tests.sql.engine import Claim, Engine
from tests.sql.test_interleavings import Scene

PROMOTE = "select lanework.promote_sessions(array['s'])"


@pytest.fixture
def scene(engine: Engine, another: Another) -> Scene:
    return Scene(engine, another, slots=None)


def head(scene: Scene) -> Claim:
    scene.watcher.enqueue("t", session="s")
    scene.watcher.rows(PROMOTE)
    return scene.watcher.claim(scene.worker, scene.lane, scene.kind)[0]


def followers(scene: Scene, count: int) -> list[int]:
    return [scene.watcher.enqueue("t", session="s") for _ in range(count)]


def states(scene: Scene, jobs: list[int]) -> list[str]:
    return [scene.watcher.status(job) for job in jobs]


def test_a_completion_lets_the_next_one_go(scene: Scene) -> None:
    first, jobs = head(scene), followers(scene, 3)
    assert scene.one.completed(scene.worker, first) == 1
    assert states(scene, jobs) == ["approved", "blocked", "blocked"]


def test_a_batch_of_completions_lets_one_of_each_session_go(scene: Scene) -> None:
    jobs = [[scene.watcher.enqueue("t", session=f"s{n}") for _ in range(3)] for n in range(5)]
    scene.watcher.rows("select lanework.promote_sessions(array(select 's' || n from generate_series(0, 4) n))")
    for done in range(3):
        claims = scene.one.claim(scene.worker, scene.lane, scene.kind, want=9)
        assert [claim.id for claim in claims] == [of[done] for of in jobs]
        assert scene.one.completed(scene.worker, *claims) == 5


def test_a_follower_that_is_submitted_while_its_head_completes(scene: Scene) -> None:
    """The completion has looked and found nobody, and has not committed: who lets the follower go then waits for it."""
    first = head(scene)
    with scene.one.db.transaction():
        assert scene.one.completed(scene.worker, first) == 1
        [late] = followers(scene, 1)
        promoting = scene.beside(scene.two, lambda: scene.two.rows(PROMOTE))
        assert promoting.blocked
    promoting.result()
    assert scene.watcher.status(late) == "approved"


def test_a_submit_does_not_wait_for_long_and_the_sweep_finds_its_job(scene: Scene) -> None:
    first = head(scene)
    with scene.one.db.transaction():
        assert scene.one.completed(scene.worker, first) == 1
        [late] = followers(scene, 1)
        scene.two.rows(PROMOTE)
    assert scene.watcher.status(late) == "blocked"
    scene.watcher.sweep()
    assert scene.watcher.status(late) == "approved"


def test_a_completion_that_is_rolled_back_lets_nobody_go(scene: Scene) -> None:
    first, jobs = head(scene), followers(scene, 2)
    with scene.one.db.transaction(force_rollback=True):
        assert scene.one.completed(scene.worker, first) == 1
    assert (states(scene, jobs), scene.watcher.status(first.id)) == (["blocked", "blocked"], "running")
    assert scene.one.completed(scene.worker, first) == 1
    assert states(scene, jobs) == ["approved", "blocked"]


def test_a_late_commit_of_a_lower_id_comes_next(scene: Scene) -> None:
    first = head(scene)
    with scene.one.db.transaction():
        [low] = [scene.one.enqueue("t", session="s")]
        [high] = followers(scene, 1)
    assert scene.two.completed(scene.worker, first) == 1
    assert states(scene, [low, high]) == ["approved", "blocked"]


def test_the_next_one_is_cancelled_while_its_head_completes(scene: Scene) -> None:
    """The completion waits for the cancel, and lets the one after that go."""
    first, jobs = head(scene), followers(scene, 2)
    with scene.one.db.transaction():
        assert scene.one.cancel(jobs[0]) == "cancelled"
        completing = scene.beside(scene.two, lambda: scene.two.completed(scene.worker, first))
        assert completing.blocked
    assert completing.result() == 1
    assert states(scene, jobs) == ["cancelled", "approved"]


def test_the_next_one_changes_while_its_head_completes(scene: Scene) -> None:
    """An operator raises it, say. It is found again, though it is in another place now."""
    first, jobs = head(scene), followers(scene, 2)
    with scene.one.db.transaction():
        scene.one.rows("set local session_replication_role = replica")  # no verb of the engine does this: not for the history
        scene.one.rows("update lanework.jobs set rank = -5 where id = %s", jobs[0])
        completing = scene.beside(scene.two, lambda: scene.two.completed(scene.worker, first))
        assert completing.blocked
    assert completing.result() == 1
    assert states(scene, jobs) == ["approved", "blocked"]


def test_a_head_that_waits_keeps_its_session(scene: Scene) -> None:
    first, jobs = head(scene), followers(scene, 1)
    assert scene.one.settle(scene.worker, first, action="snooze", delay_s=60.0) == {first.id: "scheduled"}
    scene.two.rows(PROMOTE)
    scene.watcher.sweep()
    assert states(scene, jobs) == ["blocked"]


def test_every_idle_session_is_reached(engine: Engine) -> None:
    """However many there are that are not: a walk looks at twenty here, and the next one goes on from there."""
    engine.type("t")
    names = [f"s{n:02}" for n in range(50)]
    for name in [*names, *names[:45]]:
        engine.enqueue("t", session=name)
    engine.rows("select lanework.promote_sessions(%s)", names[:45])
    walks = [engine.one("select lanework.idle_sessions(1)") for _ in range(8)]
    assert walks == [[], [], ["s45"], ["s46"], ["s47"], ["s48"], ["s49"], []]
    assert engine.one("select lanework.idle_sessions(100)") == names[45:]


def test_two_walk_in_turn(engine: Engine, another: Another) -> None:
    engine.type("t")
    engine.enqueue("t", session="s")
    with engine.db.transaction():
        assert engine.one("select lanework.idle_sessions(1)") == ["s"]
        assert another().one("select lanework.idle_sessions(1)") == []
