"""An application that child processes can import. A test gives it its database: `using(dsn)`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lanework import Context, Lanework

app = Lanework()
#: What the hooks did, in this process.
happened: list[str] = []


@contextmanager
def using(dsn: str) -> Iterator[Lanework]:
    before, app.settings = app.settings, app.settings.changed(dsn=dsn, beat=0.2, idle_beat=0.2, sweep=0.5)
    happened.clear()
    try:
        yield app
    finally:
        app.close()
        app.settings = before


@app.hooks.on_start
async def start() -> None:
    happened.append("start")


@app.hooks.on_stop
def stop() -> None:
    happened.append("stop")


@app.hooks.on_child_start
def child_start() -> None:
    happened.append("child start")


def speak(ctx: Context, value: int) -> dict[str, object]:
    print(f"printed {value}")
    sys.stderr.write("to stderr\n")
    logging.getLogger("somebody").warning("logged %s", value)
    ctx.log("said", level="info")
    ctx.progress(0.5, "half", pages=value)
    return {"value": value * 2, "pid": os.getpid(), "happened": happened.copy(), "fence": ctx.fence}


@app.job("speak_async", lane="speak")
async def speak_async(ctx: Context, value: int) -> dict[str, object]:
    return speak(ctx, value)


app.job("speak_thread", lane="speak", executor="thread")(speak)
app.job("speak_process", lane="speak", executor="process")(speak)


async def own_loop(ctx: Context, value: int) -> int:
    await asyncio.sleep(0)
    await ctx.acheckpoint({"value": value})
    return value


app.job("loop_thread", lane="speak", executor="thread")(own_loop)
app.job("loop_process", lane="speak", executor="process")(own_loop)


@app.job("resume", lane="resume", max_tries=5, backoff_base=10, executor="thread")
def resume(ctx: Context) -> list[object]:
    """Goes on from where the attempt before has been."""
    saved = ctx.saved or {"seen": []}
    saved["seen"].append([ctx.attempt, ctx.tries_used])
    ctx.checkpoint(saved)
    if ctx.attempt < 4:
        raise ConnectionError(f"attempt {ctx.attempt} broke")
    return list(saved["seen"])
