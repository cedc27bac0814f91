"""Sessions: one job after the other."""

from __future__ import annotations

import asyncio
from typing import Any

from lanework import Cancel, Context, Fail, Retryable, Snooze, Wait
from tests.inside.jobs.base import app, await_for, note
from tests.inside.jobs.children import leaf


@app.job(lane="inside", backoff_base=0.05)
async def ordered(ctx: Context, key: str, n: int, mode: str = "") -> Any:
    note(ctx, f"begin {key} {n}")
    if mode.startswith("gate"):
        await await_for(mode)
    elif mode == "pause":
        await asyncio.sleep(0.03)
    elif ctx.attempt == 1 and mode == "retry":
        raise ConnectionError("again")
    elif ctx.attempt == 1 and mode == "snooze":
        return Snooze(0.05)
    elif mode == "fail_late":
        raise Retryable("in an hour", retry_after=3600)
    elif mode == "fail":
        return Fail("as told")
    elif mode == "cancel":
        return Cancel("as told")
    elif mode == "wait" and ctx.attempt == 1:
        return Wait([await ctx.asubmit_child("c", leaf, 1)])
    note(ctx, f"end {key} {n}")
    return n


@app.job(lane="inside", executor="thread")
def session_children(ctx: Context, key: str) -> Any:
    if not ctx.children:
        return Wait(ctx.submit_children("c", ordered.options(session=key), [(key, n) for n in range(10)]))
    return len(ctx.children)
