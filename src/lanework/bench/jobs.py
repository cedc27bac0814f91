"""The jobs that are measured. They do nothing: what remains is the engine."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanework import Context, Job, Lanework, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

LANES = {"bench": 2000, "threads": 32, "children": os.cpu_count() or 1, "one_thread": 1, "one_child": 1, "inside": 4}


@dataclass(frozen=True, slots=True)
class Jobs:
    app: Lanework
    noop: Job[[int], None]
    ping: Job[[float], float]
    thread: Job[[int], None]
    process: Job[[int], None]
    one_thread: Job[[int], None]
    one_process: Job[[int], None]
    steps: Job[[int], float]
    thread_steps: Job[[int], float]
    family: Job[[int], int]
    hold: Job[[float], None]
    hold_thread: Job[[float], None]
    burn: Job[[float], None]
    chatty: Job[[], None]


async def noop(ctx: Context, i: int) -> None:
    return None


async def ping(ctx: Context, sent: float) -> float:
    """How many milliseconds ago the call of `submit` began, by the machine's clock."""
    return (time.time() - sent) * 1000


def body(ctx: Context, i: int) -> None:
    return None


async def hold(ctx: Context, seconds: float) -> None:
    """Has a slot and waits, as a job does that has asked a model."""
    await asyncio.sleep(seconds)


def hold_thread(ctx: Context, seconds: float) -> None:
    time.sleep(seconds)


def burn(ctx: Context, seconds: float) -> None:
    """Has a core for itself, as a job does that computes."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(10_000))


async def chatty(ctx: Context) -> None:
    """With something for those who follow it: two lines and progress."""
    print("one")  # noqa: T201
    ctx.progress(0.5, "half")
    print("two")  # noqa: T201


def same(i: int) -> int:
    return i


async def steps(ctx: Context, count: int) -> float:
    """Milliseconds of a stored step, the median."""
    times = []
    for i in range(count):
        start = time.perf_counter()
        await ctx.astep(f"step-{i}", same, i)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def thread_steps(ctx: Context, count: int) -> float:
    times = []
    for i in range(count):
        start = time.perf_counter()
        ctx.step(f"step-{i}", same, i)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def declare_family(app: Lanework, child: Job[[int], None]) -> Job[[int], int]:
    @app.job("family", lane="inside")
    async def family(ctx: Context, count: int) -> int | Wait:
        """Fans out, parks without a slot, and counts the children that have completed."""
        if children := await ctx.achildren():
            return len([one for one in children if one.ok])
        return Wait(await ctx.asubmit_children("child", child, [(i,) for i in range(count)]))

    return family


def declare(app: Lanework) -> Jobs:
    plain = app.job("noop", lane="bench")(noop)
    return Jobs(
        app=app,
        noop=plain,
        ping=app.job("ping", lane="bench")(ping),
        thread=app.job("thread", lane="threads", executor="thread")(body),
        process=app.job("process", lane="children", executor="process")(body),
        one_thread=app.job("one_thread", lane="one_thread", executor="thread")(body),
        one_process=app.job("one_process", lane="one_child", executor="process")(body),
        steps=app.job("steps", lane="inside")(steps),
        thread_steps=app.job("thread_steps", lane="inside", executor="thread")(thread_steps),
        family=declare_family(app, plain),
        hold=app.job("hold", lane="bench")(hold),
        hold_thread=app.job("hold_thread", lane="threads", executor="thread")(hold_thread),
        burn=app.job("burn", lane="children", executor="process")(burn),
        chatty=app.job("chatty", lane="inside")(chatty),
    )


def declare_types(app: Lanework, count: int) -> Sequence[Job[[int], None]]:
    """As many types as asked for, all in one lane."""
    return [app.job(f"type_{n}", lane="types")(noop) for n in range(count)]
