"""How a body is stopped: asked, then SIGTERM, then SIGKILL."""

from __future__ import annotations

import asyncio

import pytest

from tests.pools.children import ASK, GRACE, LINUX, LONG, TERM, lives, opened
from tests.pools.running import sync

pytestmark = LINUX


@sync
async def test_a_body_that_looks_ends_at_once_and_its_child_stays() -> None:
    async with opened(grace=ASK) as pool:
        run = pool.begin("cooperative")
        await run.link.until("started")
        assert await run.cancel("no longer needed") < LONG
        assert run.link.log() == ["started", "stopping: no longer needed"]
        assert await pool.pid() == pool.spawned[0]


@sync
async def test_an_async_body_is_cancelled_at_once() -> None:
    async with opened(grace=ASK) as pool:
        run = pool.begin("patient")
        await run.link.until("started")
        assert await run.cancel() < LONG
        assert run.link.log() == ["started", "cleaned up"]
        assert await pool.pid() == pool.spawned[0]


@sync
async def test_a_sleeping_body_ends_by_sigterm_and_cleans_up() -> None:
    async with opened(grace=TERM) as pool:
        run = pool.begin("sleeper")
        await run.link.until("started")
        assert TERM[0] <= await run.cancel() < LONG
        assert run.link.log() == ["started", "cleaned up"]
        assert pool.spawned[0] in pool.exited, "a child that was interrupted anywhere is not used again"
        assert await pool("echo", value=1) == 1


@pytest.mark.parametrize("name", ["stubborn", "deaf", "c_loop"])
def test_nothing_withstands_sigkill(name: str) -> None:
    async def test() -> None:
        async with opened() as pool:
            run = pool.begin(name)
            await run.link.until("started")
            assert sum(GRACE) <= await run.cancel() < LONG
            assert pool.exited == pool.spawned[:1]
            assert await pool("echo", value=1) == 1

    asyncio.run(test())


@sync
async def test_an_async_body_that_swallows_its_cancel_ends_by_sigterm() -> None:
    async with opened(grace=TERM) as pool:
        run = pool.begin("stubborn_async")
        await run.link.until("started")
        assert TERM[0] <= await run.cancel() < LONG
        assert run.link.log() == ["started", "swallowed"]


@sync
async def test_a_second_cancel_does_not_return_before_the_body_has_ended() -> None:
    async with opened() as pool:
        run = pool.begin("stubborn")
        await run.link.until("started")
        run.task.cancel()
        await asyncio.sleep(0.05)
        run.task.cancel()
        await asyncio.sleep(0.05)
        assert not run.task.done() and lives(pool.spawned[0])
        await run.cancel()
        assert not lives(pool.spawned[0])


@sync
async def test_a_thread_that_a_cancelled_body_left_ends_with_its_process() -> None:
    async with opened() as pool:
        run = pool.begin("leaves_thread")
        await run.link.until("started")
        await run.cancel()
        assert not lives(pool.spawned[0])


@sync
async def test_a_program_that_a_cancelled_body_waits_for_is_ended() -> None:
    async with opened(grace=TERM) as pool:
        run = pool.begin("waits_for_program")
        await run.link.until("started")
        assert await run.cancel() < LONG


@sync
async def test_signals_that_nobody_announced_do_nothing() -> None:
    async with opened() as pool:
        assert await pool("stray_signals") == "unmoved"
