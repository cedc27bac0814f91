"""Sessions: the jobs of one run one at a time, in the order of their submits; other sessions are not delayed.

The worker of these tests does not sweep: finishes and submits let the next one go. Kills are in `test_killed.py`.
"""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from lanework import Handle
from lanework.testing import Clock
from tests.inside.house import House, Reads
from tests.pace import bound


@pytest.fixture
def key() -> str:
    return f"session {uuid.uuid4().hex[:8]}"


def submit(house: House, key: str, n: int, mode: str = "", **options: Any) -> Handle[Any]:
    handle: Handle[Any] = house.job("ordered").options(session=key, **options).submit(key, n, mode)
    return handle


def order(reads: Reads, key: str) -> list[int]:
    """The numbers of a session's jobs, by each word they said."""
    return [int(one.word.split()[-1]) for one in reads.notes if one.word.split(" ", 1)[-1].startswith(f"{key} ")]


def test_submit_order_whatever_the_jobs_do(house: House, key: str) -> None:
    """Retries, failures, snoozes, cancels and waits for a child. Seen red: with the newest as the
    head."""
    modes = ["pause", "retry", "fail", "snooze", "cancel", "wait", "", "retry"]
    handles = [submit(house, key, n, modes[n % 8], priority=n) for n in range(24)]
    ended = [house.end(handle).status for handle in handles]
    assert ended == ["completed", "completed", "failed", "completed", "cancelled", "completed", "completed", "completed"] * 3
    seen = order(house, key)
    assert seen == sorted(seen) and set(seen) == set(range(24))


def test_other_sessions_are_not_delayed_by_a_stuck_one(house: House, key: str) -> None:
    stuck = [submit(house, f"{key} a", n, "gate-stuck" if n == 0 else "") for n in range(3)]
    house.is_now(stuck[0], "running")
    begun = time.monotonic()
    for handle in [submit(house, f"{key} b", n) for n in range(5)]:
        assert house.end(handle).status == "completed"
    assert time.monotonic() - begun < bound(20)
    assert [house.status(handle) for handle in stuck] == ["running", "blocked", "blocked"]
    house.open("gate-stuck")
    for handle in stuck:
        assert house.end(handle).status == "completed"


def test_a_head_that_waits_for_a_retry_blocks_its_session(house: House, key: str) -> None:
    head = submit(house, key, 0, "fail_late")
    follower = submit(house, key, 1)
    house.until(lambda: house.app.get(head.id).attempt == 1 and house.status(head) == "scheduled", "the retry to wait")
    time.sleep(0.3)
    assert house.status(follower) == "blocked"
    head.cancel()  # a cancelled one does not
    assert house.end(follower).status == "completed"


def test_waiting_followers_can_be_cancelled(house: House, key: str) -> None:
    handles = [submit(house, key, n, f"gate-{key}" if n == 0 else "") for n in range(4)]
    house.is_now(handles[0], "running")
    assert handles[1].cancel() == "cancelled"
    house.open(f"gate-{key}")
    assert [house.end(handle).status for handle in handles] == ["completed", "cancelled", "completed", "completed"]
    assert order(house, key) == [0, 0, 2, 2, 3, 3]


def test_a_follower_whose_submit_commits_after_the_head_has_ended(house: House, key: str) -> None:
    """E43: blocked for ever. Seen red: with a worker that is deaf to the hint of a session."""
    dsn = house.app.settings.dsn
    assert dsn is not None
    head = submit(house, key, 0)
    with psycopg.connect(dsn) as mine:
        late = submit(house, key, 1, connection=mine)
        assert house.end(head).status == "completed"
        time.sleep(0.2)
        mine.commit()
    assert house.end(late, 20).status == "completed"
    with psycopg.connect(dsn) as mine:  # and one that is rolled back holds nobody up
        submit(house, key, 2, connection=mine)
        after = submit(house, key, 3)
        assert house.end(after, 20).status == "completed"
        mine.rollback()
    assert order(house, key) == [0, 0, 1, 1, 3, 3]


def test_many_submits_at_once(house: House, key: str) -> None:
    handles = house.job("ordered").options(session=key).submit_many([(key, n) for n in range(20)])
    for handle in handles:
        assert house.end(handle).status == "completed"
    assert order(house, key) == [n for n in range(20) for _ in range(2)]
    assert house.sql.one("select count(*) from lanework.jobs where session = %s", key) == 0


def test_a_moment_in_a_session_holds_up_what_comes_after(house: House, key: str) -> None:
    early = submit(house, key, 0)
    late = submit(house, key, 1, run_at=timedelta(hours=1))
    after = submit(house, key, 2)
    assert house.end(early).status == "completed"
    house.is_now(late, "scheduled")
    assert house.status(after) == "blocked"
    clock = Clock(house.app)
    try:
        clock.advance(hours=2)
        assert [house.end(handle).status for handle in (late, after)] == ["completed", "completed"]
    finally:
        clock.reset()
    assert order(house, key) == [0, 0, 1, 1, 2, 2]


def test_children_in_a_session_run_in_order(house: House, key: str) -> None:
    parent = house.run("session_children", key)
    assert (parent.status, parent.result) == ("completed", 10)
    assert order(house, key) == [n for n in range(10) for _ in range(2)]


def test_one_active_job_per_session_is_kept_by_an_index(house: House, key: str) -> None:
    head = submit(house, key, 0, f"gate-{key}")
    follower = submit(house, key, 1)
    house.is_now(head, "running")
    with pytest.raises(psycopg.errors.UniqueViolation):
        house.sql.rows("update lanework.jobs set status = 'approved', blocked_on = null where id = %s", follower.id)
    house.open(f"gate-{key}")
    assert house.end(follower).status == "completed"


def test_a_block_of_the_head_does_not_keep_a_follower_from_its_cancel(house: House, key: str) -> None:
    """The head has finished in a transaction that is still open."""
    head = house.job("holds_block").options(session=key).submit(True)
    house.said(head.id, "start")
    followers = [submit(house, key, n) for n in range(2)]
    try:
        assert followers[0].cancel() == "cancelled"
    finally:
        house.open(f"block-{head.id}")
    assert house.end(head).status == "completed"
    assert house.end(followers[1], 20).status == "completed"
