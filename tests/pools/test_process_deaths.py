"""How children die, and how that is told."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lanework._child import errand
from lanework._child.death import end_group
from lanework.errors import ConfigError, ProcessDied
from tests.pace import bound
from tests.pools.children import APP, LINUX, LONG, ROOT, lives, opened, wait_for_end
from tests.pools.running import sync

pytestmark = LINUX


@sync
async def test_an_exit_names_its_code_and_keeps_the_last_words() -> None:
    async with opened() as pool:
        run = pool.begin("exit_hard", code=3)
        with pytest.raises(ProcessDied) as caught:
            await run.task
        assert caught.value.cause == "exit code 3" and caught.value.pid == pool.spawned[0]
        assert run.link.log("stdout") == ["last words"]
        assert await pool("echo", value="next") == "next"


@sync
async def test_a_segfault_names_its_signal_and_its_line() -> None:
    async with opened() as pool:
        run = pool.begin("segfault")
        with pytest.raises(ProcessDied, match=r"signal 11 \(SIGSEGV\)"):
            await run.task
        assert run.link.log("stdout") == ["before the crash"]
        assert any("in segfault" in line for line in run.link.log("stderr"))


@sync
async def test_memory_over_the_limit_is_a_death_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand, "MEMORY_CHECK_S", 0.02)
    async with opened() as pool:
        with pytest.raises(ProcessDied, match=r"out of memory: \d+ MB over the limit of 200 MB"):
            await pool("hog", memory_limit=200_000_000)
        assert await pool("echo", value=1, memory_limit=200_000_000) == 1


@sync
async def test_death_is_noticed_although_a_forked_process_holds_the_pipes() -> None:
    async with opened() as pool:
        run = pool.begin("fork_and_die")
        await run.link.until("forked")
        began = time.monotonic()
        with pytest.raises(ProcessDied, match="SIGKILL"):
            await run.task
        assert time.monotonic() - began < bound(LONG / 2)
        forked = int(run.link.log()[0].split()[1])
        assert not lives(forked)


@sync
async def test_a_child_that_dies_idle_is_replaced_silently() -> None:
    async with opened() as pool:
        pid = await pool.pid()
        os.kill(pid, signal.SIGKILL)
        await pool.until_exit(pid)
        assert await pool.pid() != pid


@sync
async def test_a_child_that_died_a_moment_ago_is_not_given_a_job() -> None:
    async with opened() as pool:
        pid = await pool.pid()
        os.kill(pid, signal.SIGKILL)
        assert wait_for_end(pid)  # and the loop has had no turn to hear of it
        assert await pool("echo", value=1) == 1


@sync
async def test_stop_ends_a_running_job() -> None:
    async with opened() as pool:
        run = pool.begin("stubborn")
        await run.link.until("started")
        await pool.pool.stop()
        with pytest.raises(ProcessDied, match="the worker stopped"):
            await run.task


@sync
async def test_stop_while_children_start() -> None:
    async with opened() as pool:
        run = pool.begin("echo")
        await asyncio.sleep(0)
        await pool.pool.stop()
        with pytest.raises(ConfigError, match="stopped"):
            await run.task


def test_nothing_outlives_a_worker_that_is_killed(tmp_path: Path) -> None:
    """The children by the kernel; what they started by the guard, which was told every pid before any job code ran."""
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED_WORKER, str(APP)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    )
    assert worker.stdout is not None
    told = [worker.stdout.readline().split() for _ in range(4)]
    children = [int(pid) for kind, pid in told if kind == b"child"]
    grandchildren = [int(pid) for kind, pid in told if kind == b"grandchild"]
    assert len(children) == len(grandchildren) == 2
    worker.kill()
    worker.wait()
    worker.stdout.close()
    assert all(wait_for_end(pid, 5) for pid in children)
    assert all(end_group(pid) for pid in children)
    assert not any(lives(pid) for pid in grandchildren)


KILLED_WORKER = """
import asyncio, sys, uuid
from types import SimpleNamespace
from tests.pools import children as t

class Link(t.FakeLink):
    def tell(self, op, data):
        if data.get("text", "").startswith("forked"):
            print("grandchild", data["text"].split()[1], flush=True)
    async def aask(self, op, data):
        await asyncio.sleep(1000)

async def main():
    t.FakeLink = Link
    pool = t.ProcessPool(t.Target.parse(sys.argv[1] + ":app"), size=2,
                         on_spawn=lambda pid: print("child", pid, flush=True))
    runs = [t.Run(pool, name, None, "", {}) for name in ("fork_and_die", "fork_and_spin")]
    await asyncio.gather(*(run.task for run in runs))

asyncio.run(main())
"""
