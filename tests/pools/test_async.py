"""The pool of the loop itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lanework._pools.asyncio import AsyncPool, end
from lanework._pools.base import Quarantined
from lanework._pools.remote import RemoteError
from lanework.context import Context
from tests.pools.calls import call, raises_async
from tests.pools.running import sync


@sync
async def test_an_async_body_is_part_of_the_task_that_runs_it() -> None:
    async def body(ctx: Context) -> Any:
        return asyncio.current_task()

    assert await AsyncPool().run(call(body)) is asyncio.current_task()


@sync
async def test_system_exit_in_an_async_body_does_not_stop_the_worker() -> None:
    for error in (SystemExit, KeyboardInterrupt):
        with pytest.raises(RemoteError) as caught:
            await asyncio.create_task(AsyncPool().run(call(raises_async, error=error)))
        assert caught.value.is_a(error)


@sync
async def test_a_cancel_that_nobody_asked_for_is_an_error() -> None:
    with pytest.raises(RemoteError) as caught:
        await asyncio.create_task(AsyncPool().run(call(raises_async, error=asyncio.CancelledError)))
    assert caught.value.is_a(asyncio.CancelledError)


@sync
async def test_a_cancelled_async_body_ends() -> None:
    task = asyncio.create_task(AsyncPool().run(call(lambda ctx: asyncio.sleep(1000))))
    await asyncio.sleep(0)
    await end(task)
    assert task.cancelled()


@sync
async def test_an_async_body_that_swallows_its_cancel_is_quarantined() -> None:
    release = asyncio.Event()

    async def body(ctx: Context) -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "in the end"

    task = asyncio.create_task(AsyncPool().run(call(body)))
    await asyncio.sleep(0)
    with pytest.raises(Quarantined) as caught:
        await end(task, patience=0.05)
    assert not caught.value.ended.done()
    release.set()
    assert await caught.value.ended == "in the end"
