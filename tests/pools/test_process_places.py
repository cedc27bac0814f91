"""Where a body runs: its child, who waits for one, what the child is given."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

from lanework._child.death import end_group
from lanework._child.spawner import Spawner
from lanework._loading import Target
from tests.pace import bound
from tests.pools.children import APP, LINUX, opened, wait_for_end
from tests.pools.running import sync

pytestmark = LINUX


@sync
async def test_a_child_stands_in_its_own_group_with_nothing_secret() -> None:
    async with opened(nice=3) as pool:
        told = await pool("who")
        pid = pool.spawned[0]
    assert told["nice"] == os.nice(0) + 3
    assert told["autogroup"] in (None, 3)
    assert told["pid"] == told["session"] == told["group"] == pid
    assert told["argv"][1:5] == ["-P", "-m", "lanework._child", told["argv"][4]] and told["argv"][5] == "tested"
    # The two are put there by libreadline in this process, past `os.environ`.
    assert set(told["environment"]) - set(os.environ) <= {"COLUMNS", "LINES"}
    assert told["oom"] == min(1000, int(Path("/proc/self/oom_score_adj").read_text()) + 500)
    assert pool.sent == [(pid, 7)]
    assert told["context"] == [7, 2, 9, "lane", "who", "me", {"page": 3}]


@sync
async def test_at_most_size_children_and_jobs_wait_their_turn() -> None:
    async with opened(size=2) as pool:
        first, second, third = (pool.begin("cooperative") for _ in range(3))
        await first.link.until("started")
        await second.link.until("started")
        assert pool.pool.free == 0 and not third.link.told
        await first.cancel()
        await third.link.until("started")
        await asyncio.gather(second.cancel(), third.cancel())
        assert len(pool.spawned) == 2 and pool.pool.free == 2


@sync
async def test_a_cancel_before_the_start_starts_nothing() -> None:
    async with opened() as pool:
        first = pool.begin("cooperative")
        await first.link.until("started")
        second = pool.begin("cooperative")
        await asyncio.sleep(0)
        assert await second.cancel() < bound(0.1)
        await first.cancel()
        assert await pool("echo", value=1) == 1
        assert not second.link.told


@sync
async def test_a_child_outlives_the_thread_that_asked_for_it() -> None:
    """PDEATHSIG follows the thread that forked."""
    started: list[Any] = []

    def ask() -> None:
        started.append(asyncio.run(Spawner().spawn("tested")))
        message = {"parent": os.getpid(), "target": Target.parse(f"{APP}:app").to_json(), "nice": 0}
        started[0].sock.sendall(json.dumps(["boot", message]).encode() + b"\n")
        assert started[0].sock.recv(100) == b'["ready"]\n'  # by now it has asked for the signal

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    with started[0].sock, started[0].popen as popen:
        assert not wait_for_end(popen.pid, 0.3)
        end_group(popen.pid, timeout=0)
    for fd in started[0].output:
        os.close(fd)
