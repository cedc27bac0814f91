"""The application of these tests. What its jobs do at the same time they count in a folder, over all processes."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from lanework import Context, Lanework
from lanework.errors import BudgetExceeded

FOLDER = "LANEWORK_TEST_FOLDER"
app = Lanework()


def folder() -> Path:
    return Path(os.environ[FOLDER])


def say(word: str) -> None:
    with (folder() / "words").open("a") as file:
        file.write(f"{word}\n")


def said() -> list[str]:
    file = folder() / "words"
    return file.read_text().splitlines() if file.exists() else []


def gate(name: str) -> None:
    while name and not (folder() / f"gate-{name}").exists():
        time.sleep(0.01)


async def agate(name: str) -> None:
    while name and not (folder() / f"gate-{name}").exists():
        await asyncio.sleep(0.01)


class Busy(Exception):
    """As an HTTP client raises it."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("too many requests")
        self.status_code, self.retry_after = 429, retry_after


@app.job(lane="wide", permits={"openai": 2})
async def declared(ctx: Context, n: int, wait_for: str = "") -> int:
    say(f"begin {n}")
    await agate(wait_for)
    say(f"end {n}")
    return n


@app.job(lane="wide", permits=["zeta", "gpu@host"], executor="thread")
def both(ctx: Context, wait_for: str = "") -> list[str]:
    gate(wait_for)
    return sorted(ctx._declared)


@app.job(lane="wide", permits=["zeta"], executor="thread")
def wrong_order(ctx: Context) -> None:
    with ctx.permit("alpha"):
        raise AssertionError("never taken")


@app.job(lane="wide")
async def plain(ctx: Context) -> str:
    return "done"


def use(ctx: Context, wait: float | None, wait_for: str) -> int:
    with ctx.permit("inner", capacity=1, wait=wait) as hold:
        say(f"in {ctx.job_id}")
        gate(wait_for)
        say(f"out {ctx.job_id}")
        return hold.fence


@app.job(lane="wide", executor="thread")
def in_thread(ctx: Context, wait: float | None = None, wait_for: str = "") -> int:
    return use(ctx, wait, wait_for)


@app.job(lane="wide", executor="process")
def in_child(ctx: Context, wait: float | None = None, wait_for: str = "") -> int:
    return use(ctx, wait, wait_for)


@app.job(lane="wide")
async def in_loop(ctx: Context, wait: float | None = None, wait_for: str = "") -> int:
    async with app.permit("inner", capacity=1, wait=wait) as hold:  # the same as ctx.permit, inside a job
        say(f"in {ctx.job_id}")
        await agate(wait_for)
        say(f"out {ctx.job_id}")
        return hold.fence


@app.job(lane="wide", executor="thread")
def leaves_it(ctx: Context) -> None:
    ctx.permit("inner").__enter__()
    raise ValueError("the body ends and does not give it back")


@app.job(lane="wide", executor="thread", timeout=60)
def mapped(ctx: Context) -> int:
    def one(n: int) -> int:
        with ctx.permit("inner", capacity=2, wait=20):
            say("in")
            time.sleep(0.01)
            say("out")
        return n

    return sum(ctx.map("part", range(8), one, concurrency=8))


@app.job(lane="wide", rate="openai", max_tries=1)
async def throttled(ctx: Context, times: int, retry_after: float) -> int:
    say(f"try {ctx.job_id}")
    if ctx.attempt <= times:
        raise Busy(retry_after)
    return ctx.attempt


@app.job(lane="wide", max_tries=1, executor="thread")
def spends(ctx: Context, upto: float, actual: float | None, how: str = "settle", wait_for: str = "") -> Any:
    with ctx.spend("openai", upto=upto) as call:
        say(f"paid {ctx.job_id}")
        gate(wait_for)
        if how == "settle" and actual is not None:
            call.settle(actual)
            call.settle(actual)
        elif how == "release":
            call.release()
        elif how == "raise":
            raise ValueError("nobody knows whether it was made")
    return ctx.attempt


@app.job(lane="wide", max_tries=1, executor="process")
def spends_in_child(ctx: Context, upto: float, actual: float) -> int:
    with ctx.spend("openai", upto=upto) as call:
        call.settle(actual)
    return ctx.attempt


@app.job(lane="wide", max_tries=1)
async def spends_async(ctx: Context, upto: float, actual: float) -> str:
    try:
        async with ctx.spend("openai", upto=upto) as call:
            await call.asettle(actual)
    except BudgetExceeded as refused:
        return refused.budget
    return "paid"
