"""Hooks of a process and of a child: what they load is there before the first job; a failure is visible and tried again."""

from __future__ import annotations

import asyncio
import os

import pytest

from lanework import Context, Lanework
from tests.inside.house import House


def test_what_a_hook_loads_is_there_before_the_first_job(house: House) -> None:
    assert house.run("loaded_thread").result == ["worker", os.getpid()]
    loaded, pid = house.run("loaded_process").result
    assert loaded == "child" and pid != os.getpid()


def test_a_start_that_fails_is_visible_and_tried_again(database: str, caplog: pytest.LogCaptureFixture) -> None:
    """A worker that has not started takes no job. Seen red: with a failure that is ignored."""
    app, done = Lanework(database, beat=0.3, idle_beat=0.3), list[str]()

    @app.job("use", lane="a")
    async def use(ctx: Context) -> list[str]:
        return [*done]

    @app.hooks.on_start
    async def first() -> None:
        done.append("first")

    @app.hooks.on_start
    def second() -> None:
        if done.count("first") < 2:
            raise RuntimeError("the model is not there")
        done.append("second")

    @app.hooks.on_stop
    def last() -> None:
        done.append("last")

    @app.hooks.on_stop
    def before_last() -> None:
        done.append("before last")

    async def main() -> None:
        handle = await use.asubmit()
        worker = app.worker()
        starting = asyncio.ensure_future(worker.start())
        while "the model is not there" not in worker.health()["state"]:
            await asyncio.sleep(0.01)
        assert worker.health()["state"] == "start hook failed: the model is not there"
        assert (await handle.ainfo()).status == "approved" and await app.aworkers() == []
        await starting
        assert (await handle.await_(30)).result == ["first", "first", "second"]
        await worker.stop()
        await app.aclose()

    asyncio.run(main())
    assert done == ["first", "first", "second", "before last", "last"]
    assert "takes no jobs until it succeeds" in caplog.text


def test_a_child_whose_start_fails_takes_no_job(house: House) -> None:
    """And the job is not lost: another child is started. All children are replaced first, so that a new one must start."""
    pools = [pool for (_, kind), pool in house.worker._pools.items() if kind == "process"]
    assert pools
    (house.folder / "fail-child-1").touch()
    for pid in {int(line) for line in living_children(house)}:
        os.kill(pid, 9)
    job = house.run("loaded_process")
    assert (job.status, job.result[0]) == ("completed", "child")
    assert not (house.folder / "fail-child-1").exists()


def living_children(house: House) -> set[str]:
    from lanework._guard.processes import children_of

    found = set()
    for pid in children_of(os.getpid()):
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            if b"lanework._child" in file.read():
                found.add(str(pid))
    return found
