"""The jobs of the tour. Their work is a pause; their effects are rows that can be counted afterwards."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from lanework import Context, Job, Lanework
from lanework.demo import diary

STEPS = 5
PART = 0.4


@dataclass(frozen=True, slots=True)
class Jobs:
    thumbnail: Job[[str], str]
    report: Job[[int], int]
    fetch: Job[[str], str]
    film: Job[[str], str]


async def thumbnail(ctx: Context, name: str) -> str:
    """Runs on the worker's event loop."""
    await asyncio.to_thread(diary.begin, ctx)
    for step in range(STEPS):
        await asyncio.sleep(0.15)
        ctx.progress((step + 1) / STEPS, name)
    await asyncio.to_thread(diary.effect, ctx)
    await asyncio.to_thread(diary.end, ctx)
    return f"{name}.small"


def report(ctx: Context, parts: int) -> int:
    """Runs in a process of its own. What is done is saved, so that another attempt goes on from there."""
    done: int = ctx.saved or 0
    diary.begin(ctx, resumed_at=done)
    ctx.progress(done / parts, f"from part {done + 1} on")
    while done < parts:
        time.sleep(PART)
        done += 1
        diary.effect(ctx, str(done))
        ctx.checkpoint(done)
        ctx.progress(done / parts, f"part {done} of {parts}")
    diary.end(ctx)
    return done


def fetch(ctx: Context, name: str) -> str:
    """Runs in a thread. Its first try meets a network that is down."""
    diary.begin(ctx)
    try:
        if ctx.tries_used == 0:
            raise ConnectionError("the network is down, for the moment")
        diary.effect(ctx)
    finally:
        diary.end(ctx)
    return name


async def film(ctx: Context, name: str) -> str:
    """Would take an hour; the tour cancels it."""
    for minute in range(60):
        ctx.progress(minute / 60, name)
        await asyncio.sleep(60)
    return name


def declare(app: Lanework) -> Jobs:
    return Jobs(
        thumbnail=app.job("thumbnail", lane="interactive")(thumbnail),
        report=app.job("report", lane="maintenance", executor="process")(report),
        fetch=app.job("fetch", lane="interactive")(fetch),
        film=app.job("film", lane="interactive")(film),
    )
