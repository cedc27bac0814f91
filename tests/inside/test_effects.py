"""Effects in the same database: exactly once with `transact` and `tx.finish`, atomic without; fenced and bounded.

Workers that are killed are in `test_killed.py`; here a child process is, which costs a test less.
"""

from __future__ import annotations

import time

import pytest

from tests.inside.house import House

EVERYWHERE = pytest.mark.parametrize("where", ["thread", "process", "async", "own_loop"])
BOTH = ["transact", "finish"]


@EVERYWHERE
def test_effects_happen_once_whatever_runs_again(house: House, where: str) -> None:
    """Seen red: with a `transact` that does not look first."""
    job = house.run(f"pays_{where}", failures=2)
    assert (job.status, job.result, job.attempt) == ("completed", {"paid": 2}, 3)
    assert house.ledger(job.id) == BOTH
    assert [step.key for step in house.app.steps(job.id)] == ["pay"]


@pytest.mark.parametrize("where", ["process", "own_loop"])
@pytest.mark.parametrize(("dies", "attempts"), [("after_transact", 2), ("before_commit", 2), ("after_commit", 1)])
def test_a_child_process_is_killed_around_its_effects(house: House, where: str, dies: str, attempts: int) -> None:
    """Promise 7, from a child process. Seen red: with a `tx.finish` that commits for itself."""
    handle = house.submit(f"pays_{where}", dies)
    job = house.end(handle)
    assert (job.status, job.result, job.attempt) == ("completed", {"paid": 2}, attempts)
    house.until(lambda: house.worker.lanes["inside"].used == 0, "the body to end")
    assert house.ledger(job.id) == BOTH
    assert len(house.words(job.id, "start")) == attempts
    assert house.app.get(job.id).attempt == attempts


def test_a_block_without_a_finish_is_atomic(house: House) -> None:
    assert house.ledger(house.run("blocks", "plain").id) == ["plain"]
    for act in ("raise", "finish_raise"):
        job = house.run("blocks", act)
        assert (job.status, house.ledger(job.id)) == ("failed", [])
    job = house.run("ablocks", "raise")
    assert (job.status, house.ledger(job.id)) == ("failed", [])
    assert house.ledger(house.run("ablocks", "plain").id) == ["plain"]


@pytest.mark.parametrize(
    ("job", "act", "says"),
    [
        ("blocks", "nest", "one block, one commit"),
        ("blocks", "nest_transact", "one block, one commit"),
        ("blocks", "commit", "the block commits when it ends"),
        ("blocks", "rollback", "raise an exception to leave the block"),
        ("blocks", "connection_commit", "commit"),
        ("blocks", "finish_twice", "finished already"),
        ("blocks", "unstorable", "result"),
        ("ablocks", "nest", "one block, one commit"),
        ("ablocks", "commit", "commit"),
    ],
)
def test_what_a_block_refuses(house: House, job: str, act: str, says: str) -> None:
    """And nothing of the block stays. Seen red: without the check, the inner block commits what the outer one undoes."""
    info = house.run(job, act)
    assert info.status == "failed" and info.error is not None and says in info.error
    assert house.ledger(info.id) == []


@pytest.mark.parametrize("job", ["blocks", "ablocks"])
def test_a_block_has_a_plain_connection(house: House, job: str) -> None:
    """Not one that reads JSON as the engine does."""
    for _ in range(2):
        info = house.run(job, "json")
        assert (info.status, info.error) == ("completed", None)


def test_the_next_block_is_not_nested(house: House) -> None:
    """A block that was left by an exception is over."""
    assert [house.run("blocks", act).status for act in ("raise", "plain")] == ["failed", "completed"]


@pytest.mark.parametrize("job", ["blocks", "ablocks"])
def test_a_checkpoint_is_part_of_the_block(house: House, job: str) -> None:
    info = house.run(job, "checkpoint")
    assert (info.result, house.ledger(info.id)) == (["checkpoint", {"at": 1}], ["checkpoint"])
    assert house.sql.one("select state from lanework.checkpoints where job_id = %s", info.id) == {"at": 1}


def test_steps_and_progress_do_not_wait_for_the_block(house: House) -> None:
    """They share the job's row with it. Seen red: with FOR NO KEY UPDATE in `held`, they wait for each other until the timeout."""
    begun = time.monotonic()
    info = house.run("blocks", "step")
    assert (info.status, info.progress_message, house.ledger(info.id)) == ("completed", "inside", ["step"])
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(("job", "args"), [("blocks", ["slow"]), ("ablocks", ["slow"]), ("idle_block", [])])
def test_a_block_ends_with_its_timeout(house: House, job: str, args: list[str]) -> None:
    """Of half a second: a statement, or silence. Seen red: without the `set_config`s."""
    begun = time.monotonic()
    info = house.run(job, *args)
    assert (info.status, house.ledger(info.id)) == ("failed", [])
    assert time.monotonic() - begun < 15
    assert info.error is not None and "timeout" in info.error.lower()


def test_a_timeout_has_a_limit(house: House) -> None:
    info = house.run("long_timeout")
    assert info.status == "failed" and info.error is not None and "expected up to 600" in info.error


@pytest.mark.parametrize(("act", "ledger"), [("finish", ["orm"]), ("raise", []), ("commit", ["orm"]), ("commit_raise", [])])
def test_sqlalchemy_works_on_the_same_connection(house: House, act: str, ledger: list[str]) -> None:
    """A `commit` of its session is not the block's. Seen red: with the dialect's own `do_commit` it is refused."""
    info = house.run("with_sqlalchemy", act)
    assert (info.status, house.ledger(info.id)) == ("completed" if ledger else "failed", ledger)


@pytest.mark.parametrize("job", ["holds_block", "aholds_block"])
def test_a_cancel_meets_an_open_block(house: House, job: str) -> None:
    """Asking does not wait for the job's row, and the block is undone. Seen red: with a `cancel` that locks the running row."""
    handle = house.submit(job)
    house.said(handle.id, "start")
    begun = time.monotonic()
    assert handle.cancel(reason="enough") == "stopping"
    assert time.monotonic() - begun < 3
    info = house.end(handle)
    assert (info.status, house.ledger(info.id)) == ("cancelled", [])


def test_a_cancel_that_cannot_reach_a_block_delays_nobody_else(house: House) -> None:
    """The job ends when its block does, cancelled; the others of its lane are worked meanwhile. Seen red: with a verdict that is
    sent while the block holds the row, the whole lane waits for it."""
    handle = house.submit("stuck_thread", 10)
    house.said(handle.id, "start")
    handle.cancel()
    time.sleep(3)  # longer than a body has to end by itself
    begun = time.monotonic()
    assert house.run("names", "beside").status == "completed"
    assert time.monotonic() - begun < 4
    assert house.status(handle) == "running"
    info = house.end(handle)
    assert (info.status, house.ledger(info.id)) == ("cancelled", [])


def test_a_cancel_ends_a_child_in_its_block(house: House) -> None:
    handle = house.submit("stuck_process", 30)
    house.said(handle.id, "start")
    handle.cancel()
    info = house.end(handle, 29)
    assert (info.status, house.ledger(info.id)) == ("cancelled", [])


def test_an_open_block_does_not_keep_others_from_their_end(house: House) -> None:
    """The rows of other jobs are other rows."""
    handle = house.submit("holds_block")
    house.said(handle.id, "start")
    assert house.run("steps_thread").status == "completed"
    assert house.run("family_thread", 2).status == "completed"
    house.open(f"block-{handle.id}")
    assert house.end(handle).status == "completed"
    assert house.ledger(handle.id) == ["held"]


def test_a_finish_that_is_not_committed_yet_is_not_seen(house: House) -> None:
    handle = house.submit("holds_block", finish=True)
    house.said(handle.id, "start")
    assert (house.status(handle), house.ledger(handle.id)) == ("running", [])
    house.open(f"block-{handle.id}")
    info = house.end(handle)
    assert (info.status, info.result, house.ledger(info.id)) == ("completed", "held", ["held"])
