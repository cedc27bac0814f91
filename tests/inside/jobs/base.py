"""The application of these jobs, where bodies note what they did, and the gates that say when they may go on. Its hooks are here:
a child process that looks for the application finds them with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

from lanework import Context, Lanework

FOLDER = "LANEWORK_TEST_FOLDER"
SECRET = "sk-very-secret"

app = Lanework()
app.secrets.add(SECRET)
app.lane("inside", max_slots=None, poll_interval_ms=250)
app.lane("kids", max_slots=None, poll_interval_ms=250)
app.lane("single", max_slots=1, poll_interval_ms=250)


def folder() -> Path:
    return Path(os.environ[FOLDER])


def note(ctx: Context, word: str) -> None:
    with (folder() / "notes").open("a") as file:  # one short write: lines of several processes do not mix
        file.write(f"{ctx.job_id} {ctx.attempt} {os.getpid()} {time.monotonic():.6f} {word}\n")


def is_open(name: str) -> bool:
    return (folder() / f"gate-{name}").exists()


def wait_for(name: str) -> None:
    while not is_open(name):
        time.sleep(0.01)


async def await_for(name: str) -> None:
    while not is_open(name):
        await asyncio.sleep(0.01)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1000)


loaded: list[str] = []


@app.hooks.on_start
def load() -> None:
    """Fails as often as the test says, by leaving files for it to use up."""
    failures = sorted(folder().glob("fail-start-*"))
    if failures:
        failures[0].unlink()
        raise RuntimeError("this start fails")
    loaded.append("worker")


@app.hooks.on_child_start
async def load_in_child() -> None:
    failures = sorted(folder().glob("fail-child-*"))
    if failures:
        failures[0].unlink()
        raise RuntimeError("this child's start fails")
    loaded.append("child")


@app.hooks.on_child_stop
def leave_child() -> None:
    with (folder() / "left").open("a") as file:
        file.write(f"{os.getpid()}\n")


def what_is_loaded(ctx: Context) -> list[Any]:
    return [*loaded, os.getpid()]


app.job("loaded_thread", lane="inside", executor="thread")(what_is_loaded)
app.job("loaded_process", lane="inside", executor="process")(what_is_loaded)
