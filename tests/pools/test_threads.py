"""The thread pool: results, cancels, and bodies that cannot be ended."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from lanework import _capture
from lanework._pools.asyncio import AsyncPool
from lanework._pools.base import Executor, Quarantined
from lanework._pools.remote import RemoteError
from lanework._pools.thread import ThreadPool
from lanework.context import Context
from tests.pace import bound
from tests.pools.calls import bare, bare_async, call, raises, raises_async
from tests.pools.running import sync

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


async def until(event: threading.Event) -> None:
    assert await asyncio.get_running_loop().run_in_executor(None, event.wait, 10)


@sync
async def test_both_are_executors() -> None:
    executors: list[Executor] = [ThreadPool(1), AsyncPool()]
    for executor in executors:
        await executor.start()
        assert await executor.run(call(bare_async, x=1)) == 3
        await executor.stop()


@sync
async def test_bodies_run_in_daemon_threads_of_the_lane() -> None:
    pool = ThreadPool(2, name="books")
    found = await pool.run(call(lambda ctx: (threading.current_thread().name, threading.current_thread().daemon)))
    assert found == ("lanework-books-1", True)
    assert await pool.run(call(bare, x=1)) == 2
    assert await pool.run(call(bare_async, x=1)) == 3
    await pool.stop()


@sync
async def test_the_caller_s_context_variables_are_there_and_changes_stay_in_the_job() -> None:
    def body(ctx: Context) -> str:
        found = variable.get()
        variable.set("changed by a job")
        return found

    async def async_body(ctx: Context) -> str:
        return body(ctx)

    pool = ThreadPool(1)
    variable.set("set by the worker")
    for fn in (body, body, async_body, async_body):
        assert await pool.run(call(fn)) == "set by the worker"
    await pool.stop()


@pytest.mark.parametrize("body", [raises, raises_async])
def test_errors_come_as_themselves_except_those_that_would_stop_the_worker(body: Callable[..., Any]) -> None:
    async def test() -> None:
        pool = ThreadPool(1)
        with pytest.raises(ZeroDivisionError, match="from the body"):
            await pool.run(call(body, error=ZeroDivisionError))
        for error in (SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit):
            with pytest.raises(RemoteError) as caught:
                await pool.run(call(body, error=error))
            assert caught.value.is_a(error)
        assert pool.free == 1
        await pool.stop()

    asyncio.run(test())


@sync
async def test_stop_iteration_from_a_body_is_an_error_like_others() -> None:
    pool = ThreadPool(1)
    with pytest.raises(RemoteError) as caught:
        await pool.run(call(raises, error=StopIteration))
    assert caught.value.is_a(StopIteration)
    await pool.stop()


@sync
async def test_at_most_size_bodies_at_a_time() -> None:
    pool = ThreadPool(2)
    gate, seen, most = threading.Event(), 0, 0
    lock = threading.Lock()

    def body(ctx: Context) -> None:
        nonlocal seen, most
        with lock:
            seen += 1
            most = max(most, seen)
        gate.wait(0.02)
        with lock:
            seen -= 1

    await asyncio.gather(*(pool.run(call(body)) for _ in range(20)))
    assert most == 2 and pool.free == 2
    await pool.stop()


@sync
async def test_a_body_that_looks_ends_when_it_is_cancelled() -> None:
    started = threading.Event()

    def body(ctx: Context) -> str:
        started.set()
        while not ctx.cancelled:
            time.sleep(0.002)
        return "late"

    pool = ThreadPool(1)
    run = asyncio.create_task(pool.run(call(body)))
    await until(started)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert pool.free == 1
    await pool.stop()


@sync
async def test_an_async_body_in_a_thread_is_cancelled_in_its_own_loop() -> None:
    started, cleaned = threading.Event(), threading.Event()

    async def body(ctx: Context) -> None:
        started.set()
        try:
            await asyncio.sleep(1000)
        finally:
            cleaned.set()

    pool = ThreadPool(1)
    run = asyncio.create_task(pool.run(call(body)))
    await until(started)
    began = time.monotonic()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert cleaned.is_set() and time.monotonic() - began < bound(1)
    await pool.stop()


@sync
async def test_a_body_that_does_not_end_is_quarantined_and_keeps_its_place() -> None:
    started, release = threading.Event(), threading.Event()

    def body(ctx: Context) -> None:
        started.set()
        release.wait(60)

    pool = ThreadPool(1, patience=0.05)
    run = asyncio.create_task(pool.run(call(body)))
    await until(started)
    run.cancel()
    with pytest.raises(Quarantined) as caught:
        await run
    assert pool.free == 0 and not caught.value.ended.done()
    waiting = asyncio.create_task(pool.run(call(bare)))
    await asyncio.sleep(0.05)
    assert not waiting.done(), "the place is taken"
    release.set()
    await caught.value.ended
    assert await waiting == 1
    assert pool.free == 1
    await pool.stop()


@sync
async def test_a_second_cancel_is_no_way_round_the_patience() -> None:
    started, release = threading.Event(), threading.Event()

    def body(ctx: Context) -> None:
        started.set()
        release.wait(60)

    pool = ThreadPool(1, patience=5)
    run = asyncio.create_task(pool.run(call(body)))
    await until(started)
    for _ in range(3):
        run.cancel()
        await asyncio.sleep(0.02)
    assert not run.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    await pool.stop()


@sync
async def test_a_job_cancelled_in_the_queue_never_starts() -> None:
    started, release, wrongly = threading.Event(), threading.Event(), threading.Event()

    def body(ctx: Context) -> None:
        started.set()
        release.wait(60)

    pool = ThreadPool(1)
    first = asyncio.create_task(pool.run(call(body)))
    await until(started)
    second = asyncio.create_task(pool.run(call(lambda ctx: wrongly.set())))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    release.set()
    await first
    assert await pool.run(call(bare)) == 1
    assert not wrongly.is_set() and pool.free == 1
    await pool.stop()


def test_the_process_can_exit_while_a_body_hangs() -> None:
    script = """
import asyncio, threading, time
from lanework._pools.thread import ThreadPool
from tests.pools.calls import call

async def main():
    pool, started = ThreadPool(1), threading.Event()
    def hang(ctx):
        started.set()
        time.sleep(1000)
    task = asyncio.ensure_future(pool.run(call(hang)))
    while not started.is_set():
        await asyncio.sleep(0.01)
    print("leaving")

loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)
    assert (ran.returncode, ran.stdout) == (0, "leaving\n"), ran.stderr


@sync
async def test_what_threads_print_goes_to_their_jobs() -> None:
    barrier = threading.Barrier(4)

    def body(ctx: Context, number: int) -> None:
        barrier.wait(60)
        for line in range(20):
            print(number, line)
        print("last", end="")

    async def async_body(ctx: Context, number: int) -> None:
        body(ctx, number)

    pool = ThreadPool(4)
    calls = [call(body if number % 2 else async_body, number=number) for number in range(4)]
    _capture.install()
    try:
        await asyncio.gather(*map(pool.run, calls))
    finally:
        _capture.uninstall()
    for number, each in enumerate(calls):
        link: Any = each.context._link
        text = "\n".join(data["text"] for _, data in link.told)
        assert text.split("\n") == [*(f"{number} {line}" for line in range(20)), "last"]
    await pool.stop()
