"""Effects in the same database: exactly once with `transact` and `tx.finish`, atomic without; fenced and bounded.

Workers that are killed are in `test_killed.py`; here a child process is, which costs a test less.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

import pytest

from lanework import Context, Lanework
from lanework._store.keeper import AsyncKeeper, Keeper
from tests.inside.house import House
from tests.pace import bound

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
    assert time.monotonic() - begun < bound(20)


@pytest.mark.parametrize(("job", "args"), [("blocks", ["slow"]), ("ablocks", ["slow"]), ("idle_block", [])])
def test_a_block_ends_with_its_timeout(house: House, job: str, args: list[str]) -> None:
    """Of half a second: a statement, or silence. Seen red: without the `set_config`s."""
    begun = time.monotonic()
    info = house.run(job, *args)
    assert (info.status, house.ledger(info.id)) == ("failed", [])
    assert time.monotonic() - begun < bound(15)
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
    assert time.monotonic() - begun < bound(3)
    info = house.end(handle)
    assert (info.status, house.ledger(info.id)) == ("cancelled", [])


def test_a_cancel_that_cannot_reach_a_block_delays_nobody_else(house: House) -> None:
    """The job ends when its block does, cancelled; the others of its lane are worked meanwhile. Seen red: with a verdict that is
    sent while the block holds the row, the whole lane waits for it."""
    house.sql.one("select pg_advisory_lock(77)")
    try:
        handle = house.submit("stuck_thread", 77)
        house.said(handle.id, "start")
        handle.cancel()
        time.sleep(2.5)  # longer than a body has to end by itself
        assert house.run("names", "beside").status == "completed"
        assert house.status(handle) == "running"
    finally:
        house.sql.one("select pg_advisory_unlock(77)")
    info = house.end(handle)
    assert (info.status, house.ledger(info.id)) == ("cancelled", [])


def test_a_cancel_ends_a_child_in_its_block(house: House) -> None:
    handle = house.submit("stuck_process", 30)
    house.said(handle.id, "start")
    handle.cancel()
    info = house.end(handle, 29)
    assert (info.status, house.ledger(info.id)) == ("cancelled", [])


def test_a_child_that_is_killed_in_a_statement_of_its_block_frees_its_row_soon(house: House) -> None:
    """The server looks once a second whether its client is gone. Seen red: with an interval of five seconds."""
    handle = house.submit("works_in_block")
    house.said(handle.id, "start")
    time.sleep(0.3)  # the statement is under way
    (pid,) = {one.pid for one in house.notes if one.job == handle.id}
    at_work = "select count(*) from pg_stat_activity where state = 'active' and query = 'select pg_sleep(50)'"
    assert house.sql.one(at_work) == 1
    os.kill(pid, signal.SIGKILL)
    assert house.until(lambda: house.sql.one(at_work) == 0, "the server to notice") < bound(3)
    assert house.end(handle).result == "attempt 2"


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


async def inside_blocks(dsn: str, patience: int) -> list[str]:
    """As many jobs in their block as there are connections; each then stores blobs, submits, reads and stores a large step."""
    app = Lanework(dsn, connections=2, connect_timeout=patience)
    app.lane("here", max_slots=None)
    together = asyncio.Barrier(4)

    @app.job("small", lane="elsewhere")
    async def small(ctx: Context) -> None: ...

    @app.job("blocking", lane="here", executor="thread", max_tries=1)
    def blocking(ctx: Context) -> None:
        with ctx.transaction(timeout=90):
            asyncio.run_coroutine_threadsafe(together.wait(), loop).result(60)
            assert ctx.get_blob(ctx.put_blob(b"x" * 10)) == b"x" * 10
            ctx.step("large", lambda: "ü" * 900_000)
            assert small.submit().info().type == "small"

    @app.job("looping", lane="here", max_tries=1)
    async def looping(ctx: Context) -> None:
        async with ctx.atransaction(timeout=90):
            await asyncio.wait_for(together.wait(), 60)
            async with asyncio.timeout(patience):
                assert await ctx.aget_blob(await ctx.aput_blob(b"x" * 10)) == b"x" * 10
                await ctx.astep("large", lambda: "ü" * 900_000)
                assert (await (await small.asubmit()).ainfo()).type == "small"

    loop = asyncio.get_running_loop()
    async with app, app.worker(lanes=["here"]):
        handles: list[Any] = [await job.asubmit() for job in (blocking, blocking, looping, looping)]
        return [(await handle.await_(120)).status for handle in handles]


def test_what_is_called_inside_a_block_does_not_wait_for_blocks(database: str) -> None:
    """Review 1.10."""
    assert asyncio.run(inside_blocks(database, 60)) == ["completed"] * 4


def test_blocks_that_share_their_connections_would_be_noticed(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Keeper, AsyncKeeper):
        monkeypatch.setattr(kind, "for_blocks", lambda self: self)
    assert "failed" in asyncio.run(inside_blocks(database, 2))
