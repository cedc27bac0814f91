"""The application that the children of the pool tests load: handlers that behave, and handlers that do not."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from lanework.context import Context
from lanework.outcomes import Cancel, Done, Fail, Snooze


class Handler:
    """As much of `lanework.handlers.Handler` as a pool touches."""

    def __init__(self, fn: Callable[..., Any], *, name: str = "", memory_limit: int | None = None) -> None:
        self.name = name or fn.__name__
        self.fn = fn
        self.is_async = inspect.iscoroutinefunction(fn)
        self.memory_limit = memory_limit

    def load(self, payload: dict[str, Any], version: int) -> dict[str, Any]:
        return payload


class Hooks:
    def __init__(self) -> None:
        self.child_start: list[Callable[[], Any]] = []
        self.child_stop: list[Callable[[], Any]] = []


class Application:
    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        self.hooks = Hooks()

    def job(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        self.handlers[fn.__name__] = Handler(fn)
        return fn


app = Application()


class Refused(ConnectionError):
    status_code = 429
    retry_after = 2.5
    code = "slow_down"
    secret = object()


# -- what they give ----------------------------------------------------------------------------------------------------


@app.job
def echo(ctx: Context, value: Any = None) -> Any:
    return value


@app.job
async def echo_async(ctx: Context, value: Any = None) -> Any:
    await asyncio.sleep(0)
    return value


def _autogroup() -> int | None:
    """The niceness of our session; None where Linux does not group tasks by session."""
    file, switch = Path("/proc/self/autogroup"), Path("/proc/sys/kernel/sched_autogroup_enabled")
    on = file.exists() and switch.exists() and switch.read_text().strip() == "1"
    return int(file.read_text().split()[-1]) if on else None


@app.job
def who(ctx: Context) -> Any:
    return {
        "pid": os.getpid(),
        "session": os.getsid(0),
        "group": os.getpgid(0),
        "nice": os.nice(0),
        "autogroup": _autogroup(),
        "argv": Path("/proc/self/cmdline").read_bytes().decode().split("\0"),
        "environment": dict(os.environ),
        "oom": int(Path("/proc/self/oom_score_adj").read_text()),
        "context": [ctx.job_id, ctx.attempt, ctx.fence, ctx.lane, ctx.type, ctx.owner, ctx.saved],
    }


@app.job
def outcome(ctx: Context, kind: str) -> Any:
    return {
        "done": Done({"a": [1, "é"]}),
        "snooze": Snooze(timedelta(minutes=2)),
        "cancel": Cancel("enough"),
        "fail": Fail(Refused("no"), error_class="budget"),
    }[kind]


@app.job
def unstorable(ctx: Context) -> Any:
    return {"at": [{1, 2}]}


@app.job
def refuse(ctx: Context) -> None:
    raise Refused("wait a little")


@app.job
def leave(ctx: Context) -> None:
    raise SystemExit(4)


@app.job
async def loop_identity(ctx: Context) -> int:
    asyncio.get_running_loop().create_task(asyncio.sleep(1000))
    return id(asyncio.get_running_loop()) + len(asyncio.all_tasks()) * 0


# -- how they die ------------------------------------------------------------------------------------------------------


@app.job
def exit_hard(ctx: Context, code: int) -> None:
    print("last words")
    os._exit(code)


@app.job
def segfault(ctx: Context) -> None:
    os.write(1, b"before the crash\n")
    ctypes.string_at(0)


@app.job
def hog(ctx: Context) -> None:
    held: list[bytearray] = []
    while len(held) < 80:  # 800 MB: a test of ours must not take the machine with it
        held.append(bytearray(os.urandom(1024)) * 10_000)
        time.sleep(0.005)


@app.job
def fork_and_die(ctx: Context) -> None:
    """Leaves a process that holds every descriptor, and dies."""
    pid = os.fork()
    if pid == 0:
        time.sleep(1000)
    ctx.log(f"forked {pid}")
    ctx.checkpoint("told")
    os.kill(os.getpid(), signal.SIGKILL)


@app.job
def fork_and_spin(ctx: Context) -> None:
    """Only the kernel can end it: no thread of it ever runs again."""
    pid = os.fork()
    if pid == 0:
        time.sleep(1000)
    ctx.log(f"forked {pid}")
    sum(range(10**12))


# -- how they are stopped ----------------------------------------------------------------------------------------------


@app.job
def cooperative(ctx: Context) -> str:
    ctx.log("started")
    while not ctx.cancelled:
        time.sleep(0.005)
    ctx.log(f"stopping: {ctx._cancel_reason}")
    return "late"


@app.job
async def patient(ctx: Context) -> None:
    ctx.log("started")
    try:
        await asyncio.sleep(1000)
    finally:
        ctx.log("cleaned up")


@app.job
def sleeper(ctx: Context) -> None:
    ctx.log("started")
    try:
        time.sleep(1000)
    except Exception:
        ctx.log("wrongly caught")
    finally:
        ctx.log("cleaned up")


@app.job
def stubborn(ctx: Context) -> None:
    """Swallows everything."""
    ctx.log("started")
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            ctx.log("swallowed")


@app.job
async def stubborn_async(ctx: Context) -> None:
    ctx.log("started")
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            ctx.log("swallowed")


@app.job
def deaf(ctx: Context) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctx.log("started")
    time.sleep(1000)


@app.job
def c_loop(ctx: Context) -> None:
    """Holds the interpreter in C: no signal handler of Python, no other thread."""
    ctx.log("started")
    sum(range(10**12))


@app.job
def leaves_thread(ctx: Context) -> None:
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    cooperative(ctx)


@app.job
def waits_for_program(ctx: Context) -> None:
    """`os.system` waits in C; only the program's own end frees it."""
    ctx.log("started")
    os.system("sleep 1000")
    ctx.log("program ended")


@app.job
def stray_signals(ctx: Context) -> str:
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(os.getpid(), number)
        os.killpg(0, number)
    time.sleep(0.05)
    return "unmoved"


# -- what they write ---------------------------------------------------------------------------------------------------


@app.job
def writes(ctx: Context) -> None:
    print("from print")
    os.write(1, b"from C\n")
    subprocess.run(["echo", "from a program"], check=True)
    print("to stderr", file=sys.stderr)
    logging.getLogger("mine").info("from logging")
    ctx.log("from ctx", level="warning")
    print("no newline", end="")


@app.job
def writes_c_buffered(ctx: Context) -> None:
    ctypes.CDLL(None).printf(b"from printf")


@app.job
def floods(ctx: Context, lines: int) -> None:
    for number in range(lines):
        print(number)


@app.job
def logs_much(ctx: Context, lines: int) -> None:
    for number in range(lines):
        ctx.log(str(number))


@app.job
def long_line(ctx: Context) -> None:
    print("x" * 1_000_000)
    print("after")


@app.job
def leaves_process(ctx: Context, fifo: str) -> int:
    """A program that writes later, when the fifo is opened: into the next job's time."""
    return subprocess.Popen(["sh", "-c", f"cat {fifo} > /dev/null; echo ghost; cat {fifo} > /dev/null"]).pid


@app.job
def opens(ctx: Context, fifo: str, wait: float = 0.0) -> None:
    print("mine")
    with Path(fifo).open("w"):
        pass
    time.sleep(wait)


@app.job
def reports(ctx: Context, times: int) -> None:
    for number in range(1, times + 1):
        ctx.progress(number / times, f"step {number}", last=number)


@app.job
def reports_nan(ctx: Context) -> None:
    ctx.progress(0.5, data=float("nan"))


# -- what they ask -----------------------------------------------------------------------------------------------------


@app.job
def asks(ctx: Context, state: Any) -> Any:
    found = []
    thread = threading.Thread(target=lambda: found.append(ctx._link.ask("echo", {"state": state})))
    thread.start()
    thread.join()
    return [ctx._link.ask("echo", {"state": state}), *found]


@app.job
async def asks_async(ctx: Context, state: Any) -> Any:
    return await asyncio.gather(*(ctx._link.aask("echo", {"state": [state, number]}) for number in range(5)))


@app.job
def asks_wrong(ctx: Context, op: str) -> Any:
    try:
        ctx._link.ask(op, {})
    except Exception as error:
        return [type(error).__name__, str(error)]


@app.job
def forks_helper(ctx: Context) -> Any:
    """A forked process can be ended, and what it logs is not lost."""
    fork = multiprocessing.get_context("fork")
    ready = fork.Event()

    def helper() -> None:
        logging.getLogger("helper").warning("from a fork")
        ctx.log("ctx in a fork")
        ready.set()
        time.sleep(1000)

    process = fork.Process(target=helper)
    process.start()
    ready.wait()
    process.terminate()
    process.join()
    return process.exitcode
