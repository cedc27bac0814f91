"""The application of these tests. What a body did is noted in a file; when it may go on is said by gates, which are files too."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from lanework import Context, Lanework, Notification

FOLDER = Path(os.environ.get("LANEWORK_TEST_FOLDER", "/nonexistent"))
#: Functions of C that are called without letting go of the GIL.
holding_the_gil: Any = ctypes.PyDLL(None)

_declared: list[tuple[str, Callable[..., Any], dict[str, Any]]] = []


def job(*names: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def declare(fn: Callable[..., Any]) -> Callable[..., Any]:
        given = {"lane": "work", "backoff_base": 0.1, **options}
        _declared.extend((name, fn, given) for name in names or (fn.__name__,))
        return fn

    return declare


def declared(app: Lanework) -> Lanework:
    """The same jobs for the workers, and for the test that submits them."""
    app.lane("work", max_slots=None, poll_interval_ms=250)
    for name, fn, options in _declared:
        app.job(name, **options)(fn)
    app.lane("lanework", max_slots=None, poll_interval_ms=250)
    app.condition(gated)
    return app


def gated(ctx: Context) -> bool:
    """A condition of schedules: true once its gate is open."""
    note(ctx, "start")
    wait_for("condition")
    return True


def note(ctx: Context, word: str) -> None:
    with (FOLDER / "notes").open("a") as file:  # one short write: lines of several processes do not mix
        file.write(f"{ctx.job_id} {ctx.attempt} {os.getpid()} {time.monotonic():.6f} {word}\n")


def gate(name: str) -> Path:
    return FOLDER / f"gate-{name}"


def wait_for(name: str) -> None:
    while not gate(name).exists():
        time.sleep(0.01)


# -- limits ------------------------------------------------------------------------------------------------------------


@job("permit_1", permits={"p1": 1})
@job("permit_2", permits={"p2": 2})
@job("permit_5", permits={"p5": 5})
async def permitted(ctx: Context, seconds: float = 0.05) -> int:
    note(ctx, f"in {ctx.type}")
    await asyncio.sleep(seconds)
    note(ctx, f"out {ctx.type}")
    return ctx.attempt


@job(executor="thread")
def permit_inside(ctx: Context, seconds: float = 0.05) -> int:
    with ctx.permit("inside", capacity=2, wait=2.0) as hold:
        note(ctx, "in permit_inside")
        time.sleep(seconds)
        note(ctx, "out permit_inside")
        return hold.fence


@job(executor="thread", max_tries=1, rate="provider")
def pays(ctx: Context, calls: int, seed: int) -> int:
    """Every call may cost 1 and costs what the provider says; now and then it says "not so fast"."""
    for n in range(calls):
        ctx.step(f"call {n}", pay, ctx, seed * 1000 + n * 10 + ctx.attempt)
    return ctx.attempt


def pay(ctx: Context, chance: int) -> float:
    with ctx.spend("provider", upto=1) as call:
        if chance % 7 == 3:
            call.release()
            raise Throttled
        price = (20 + chance * 37 % 80) / 100
        note(ctx, f"bill {price}")
        time.sleep(0.03)
        call.settle(price)
    return price


class Throttled(Exception):
    status_code, retry_after = 429, 0.2


# -- good jobs ---------------------------------------------------------------------------------------------------------


@job()
async def nap(ctx: Context, seconds: float = 0.0) -> int:
    note(ctx, "start")
    await asyncio.sleep(seconds)
    note(ctx, "end")
    return ctx.attempt


@job("nap_thread", executor="thread")
@job("nap_process", executor="process")
def nap_blocking(ctx: Context, seconds: float = 0.0) -> int:
    note(ctx, "start")
    if seconds:
        time.sleep(seconds)
    note(ctx, "end")
    return ctx.attempt


@job("hold", "hold_too")
async def hold(ctx: Context, name: str = "go") -> int:
    note(ctx, "start")
    while not gate(name).exists():
        await asyncio.sleep(0.01)
    note(ctx, "end")
    return ctx.attempt


@job("hold_thread", executor="thread")
@job("hold_process", executor="process")
def hold_blocking(ctx: Context, name: str = "go") -> int:
    note(ctx, "start")
    wait_for(name)
    note(ctx, "end")
    return ctx.attempt


@job("once_broken", "once_broken_too", max_tries=10)
async def once_broken(ctx: Context, seconds: float = 0.0, failures: int = 1) -> int:
    await asyncio.sleep(seconds)
    if ctx.tries_used < failures:
        raise ConnectionError("not yet")
    return ctx.attempt


@job("mortal", "mortal_too", max_tries=1)
async def mortal(ctx: Context) -> int:
    """Dies until it is mended."""
    note(ctx, "start")
    await asyncio.sleep(0.02)
    if not gate("mended").exists():
        raise ValueError(f"job {ctx.job_id} is not mended")
    note(ctx, "end")
    return ctx.attempt


def tell(notification: Notification) -> None:
    """Notes what it was told; and dies with it as often as there are files that say so."""
    with (FOLDER / "told").open("a") as file:
        file.write(f"{notification.id} {notification.tries} {notification.count}\n")
    for order in sorted(FOLDER.glob("die-telling-*"))[:1]:
        order.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


# -- zombies -----------------------------------------------------------------------------------------------------------


@job("writer_a", "writer_b", "writer_c", executor="thread", on_disconnect="hold")  # goes on though its worker fences itself
def writer(ctx: Context, silent: bool = False) -> str:
    """Every write that a claim allows, tried by every attempt once its gate is open, whatever became of the claim; or only the
    last one, the finish."""
    note(ctx, "start")
    wait_for(f"attempt-{ctx.attempt}")
    mine = f"of attempt {ctx.attempt}"
    for write in () if silent else (partial(ctx.progress, 0.5), ctx.log, ctx.checkpoint):
        try:
            write(mine)
        except Exception as error:
            note(ctx, f"refused {type(error).__name__}")
    note(ctx, "wrote")
    return mine


# -- busy, stubborn and stuck jobs -------------------------------------------------------------------------------------


@job()
async def busy(ctx: Context, seconds: int) -> int:
    note(ctx, "start")
    holding_the_gil.sleep(seconds)
    return ctx.attempt


@job(executor="thread")
def busy_thread(ctx: Context, seconds: int) -> int:
    note(ctx, "start")
    holding_the_gil.sleep(seconds)
    return ctx.attempt


@job("stubborn")
@job("stubborn_timeout", timeout=0.5, max_tries=1)
async def stubborn(ctx: Context) -> None:
    note(ctx, "start")
    while not gate("give-up").exists():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            note(ctx, "swallowed")
    note(ctx, "end")


@job("endless_thread", executor="thread")
@job("endless_thread_timeout", executor="thread", timeout=0.5, max_tries=1)
def endless_thread(ctx: Context) -> None:
    note(ctx, "start")
    while not gate("give-up").exists():
        note(ctx, "alive")
        time.sleep(0.02)
    note(ctx, "end")


@job("endless_process", executor="process")
@job("endless_process_timeout", executor="process", timeout=0.5, max_tries=1)
def endless_process(ctx: Context) -> None:
    """In C, with SIGTERM switched off: only SIGKILL ends it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    note(ctx, "start")
    while True:
        holding_the_gil.sleep(1000)


@job(timeout=1, max_tries=2)
async def blocker(ctx: Context, seconds: int = 1000) -> int:
    """Blocks the worker's own loop, in its first attempt."""
    note(ctx, "start")
    if ctx.attempt == 1:
        holding_the_gil.sleep(seconds)
    return ctx.attempt


@job(executor="process", timeout=2, max_tries=1)
def slow_process(ctx: Context) -> None:
    note(ctx, "start")
    time.sleep(1000)


@job("spin_thread", executor="thread")
@job("spin_process", executor="process")
def spin(ctx: Context) -> None:
    note(ctx, "start")
    while not gate("give-up").exists():
        sum(range(10_000))


@job("dead_locked", executor="thread")
def dead_locked(ctx: Context) -> None:
    note(ctx, "start")
    lock = threading.Lock()
    lock.acquire()
    while not lock.acquire(timeout=0.1):
        if gate("give-up").exists():
            return


@job(progress=True, stale_after=1.5, max_tries=2)
async def stalls(ctx: Context) -> int:
    """Reports for longer than its stale time, then falls silent; only in its first attempt."""
    note(ctx, "start")
    for _ in range(12 if ctx.attempt == 1 else 1):
        ctx.progress(0.5)
        await asyncio.sleep(0.25)
    if ctx.attempt == 1:
        note(ctx, "silent")
        await asyncio.sleep(1000)
    return ctx.attempt


# -- jobs that hold up others ------------------------------------------------------------------------------------------


@job("freezer_thread", executor="thread")
@job("freezer_process", executor="process")
def freezer(ctx: Context, lanes: list[str], name: str = "thaw") -> None:
    note(ctx, "start")
    with ctx.freeze(lanes, reason="a test"):
        note(ctx, "quiet")
        wait_for(name)
        note(ctx, "end")


@job("freezer_async")
async def freezer_async(ctx: Context, lanes: list[str], name: str = "thaw") -> None:
    note(ctx, "start")
    async with ctx.afreeze(lanes, reason="a test"):
        note(ctx, "quiet")
        while not gate(name).exists():
            await asyncio.sleep(0.01)
        note(ctx, "end")


# -- poison ------------------------------------------------------------------------------------------------------------


@job()
async def leaves(ctx: Context) -> None:
    note(ctx, "start")
    os._exit(7)


@job(executor="thread")
def segfaults(ctx: Context) -> None:
    note(ctx, "start")
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(1000)


@job(executor="process", memory_limit=150 * 1024 * 1024)
def hungry(ctx: Context) -> None:
    note(ctx, "start")
    eaten = []
    while True:
        eaten.append(b"x" * 16 * 1024 * 1024)
        time.sleep(0.02)


@job("with_family", "with_family_too", executor="process")
def with_family(ctx: Context) -> None:
    """Starts programs that outlive it, one in its group and one in a session of its own. Each notes that it lives."""
    script = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True:\n"
        "    open(sys.argv[1], 'a').write(f'{os.getpid()} {time.monotonic()}\\n'); time.sleep(0.02)\n"
    )
    for kin, apart in (("child", False), ("stranger", True)):
        file = FOLDER / f"{kin}-{ctx.job_id}-{ctx.attempt}"
        subprocess.Popen([sys.executable, "-c", script, str(file)], start_new_session=apart)
        while not file.exists():
            time.sleep(0.01)
    note(ctx, "start")
    if ctx.attempt == 1:
        time.sleep(1000)


app = declared(Lanework())
if os.environ.get("LANEWORK_TEST_NOTIFIER"):
    app.notifier(name="tell", every=1)(tell)


@app.hooks.on_start
def start() -> None:
    """Fails as often as the test says, by leaving files for it to use up."""
    failures = sorted(FOLDER.glob("fail-start-*"))
    if failures:
        failures[0].unlink()
        raise RuntimeError("this start fails")
