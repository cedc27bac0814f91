"""Maps over items."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from lanework import ClaimLost, Context, Partial, Retryable
from tests.inside.jobs.base import SECRET, app, await_for, note
from tests.inside.jobs.effects import slow_write


def square(ctx: Context, bad: list[int], pause: float, item: int) -> tuple[int, int]:
    note(ctx, f"begin {item}")
    if ctx.cancelled:
        note(ctx, f"late {item}")
    if pause:
        time.sleep(pause)
    note(ctx, f"finish {item}")
    if item in bad:
        raise ValueError(f"item {item} is bad, and {SECRET} too")
    return (item, item * item)


def mapped(
    ctx: Context, items: list[int], bad: list[int] | None = None, later: list[int] | None = None, failures: int = 0,
    concurrency: int = 8, pause: float = 0.0,
) -> list[Any]:  # fmt: skip
    """`later` is the list from the second attempt on."""
    given = items if ctx.attempt == 1 or later is None else later
    found = ctx.map("sq", given, lambda item: square(ctx, bad or [], pause, item), concurrency=concurrency)
    note(ctx, f"errors {[error.item for error in found.errors]}")
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    return list(found)


app.job("map_thread", lane="inside", executor="thread", backoff_base=0.05)(mapped)
app.job("map_process", lane="inside", executor="process", backoff_base=0.05)(mapped)


async def asquare(ctx: Context, bad: list[int], pause: float, item: int) -> tuple[int, int]:
    note(ctx, f"begin {item}")
    await asyncio.sleep(pause)
    note(ctx, f"finish {item}")
    if item in bad:
        raise ValueError(f"item {item} is bad, and {SECRET} too")
    return (item, item * item)


@app.job("map_async", lane="inside", backoff_base=0.05)
async def amapped(
    ctx: Context, items: list[int], bad: list[int] | None = None, later: list[int] | None = None, failures: int = 0,
    concurrency: int = 8, pause: float = 0.0,
) -> list[Any]:  # fmt: skip
    given = items if ctx.attempt == 1 or later is None else later
    found = await ctx.amap("sq", given, lambda item: asquare(ctx, bad or [], pause, item), concurrency=concurrency)
    note(ctx, f"errors {[error.item for error in found.errors]}")
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    return list(found)


@app.job(lane="inside", executor="thread", max_tries=1)
def map_wrong(ctx: Context, concurrency: int) -> None:
    ctx.map("sq", [1], str, concurrency=concurrency)


@app.job(lane="inside", executor="thread")
def map_own_partial(ctx: Context) -> Partial:
    found = ctx.map("sq", [1, 2], lambda item: square(ctx, [2], 0, item))
    return Partial([*found], found.errors)


def throttled_once(ctx: Context, item: int) -> int:
    note(ctx, f"begin {item}")
    if item == 2 and ctx.attempt == 1:
        raise Retryable("later", error_class="throttled", retry_after=0.05)
    return item


@app.job(lane="inside", executor="thread", max_tries=1)
def map_throttled_thread(ctx: Context) -> list[int]:
    return list(ctx.map("item", [1, 2, 3], lambda item: throttled_once(ctx, item), concurrency=1))


@app.job(lane="inside", max_tries=1)
async def map_throttled_async(ctx: Context) -> list[int]:
    return list(await ctx.amap("item", [1, 2, 3], lambda item: throttled_once(ctx, item), concurrency=1))


@app.job(lane="inside", executor="thread", max_tries=1)
def map_effects(ctx: Context) -> int:
    """An exactly-once effect per item, several at a time."""

    def one(item: int) -> str:
        return ctx.transact(f"pay {item}", slow_write, ctx.job_id, str(item))

    return len(ctx.map("pay", range(3), one, concurrency=3))


@app.job(lane="inside")
async def map_lost(ctx: Context) -> str:
    """What an async map raises when the claim is gone."""
    note(ctx, "start")
    if ctx.attempt == 1:
        await await_for(f"zombie-{ctx.job_id}-1")
    try:
        await ctx.amap("sq", [1, 2, 3], str)
    except ClaimLost:
        note(ctx, "refused")
        raise
    except BaseException as error:
        note(ctx, f"wrong {error!r}")
        raise
    return f"attempt {ctx.attempt}"
