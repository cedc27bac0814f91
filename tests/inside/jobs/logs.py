"""What bodies print, log and must not tell."""

from __future__ import annotations

import logging
import os
import sys
import time

from lanework import Cancel, Context, Fail
from tests.inside.jobs.base import SECRET, app, die


def talks(ctx: Context) -> str:
    print("one")
    print("two\nlines")
    ctx.log(f"three\nlines {SECRET}")
    sys.stderr.write(f"four {SECRET}\n")
    logging.getLogger("somebody").warning("five %s", SECRET)
    ctx.progress(0.5, f"half of {SECRET}")
    print("six, no end", end="")
    if ctx.tries_used == 0:
        raise ConnectionError(f"lost {SECRET}")
    return "said"


app.job("talks_thread", lane="inside", executor="thread", backoff_base=0.05)(talks)
app.job("talks_process", lane="inside", executor="process", backoff_base=0.05)(talks)


@app.job("talks_async", lane="inside", backoff_base=0.05)
async def atalks(ctx: Context) -> str:
    return talks(ctx)


def learns_a_secret(ctx: Context) -> None:
    """That nobody else has: not the worker, if this is a child process."""
    secret = f"sk-{os.getpid()}-of-job-{ctx.job_id}"
    app.secrets.add(secret)
    print(f"printed {secret}")
    os.write(2, f"written {secret}\n".encode())
    ctx.log(f"logged {secret}")
    ctx.progress(0.5, f"told {secret}", keys=[secret, {"deep": f"a {secret}"}], **{secret: 1})
    raise ValueError(f"raised {secret}")


app.job("learns_thread", lane="inside", executor="thread", max_tries=1)(learns_a_secret)
app.job("learns_process", lane="inside", executor="process", max_tries=1)(learns_a_secret)


@app.job(lane="inside", executor="process")
def says_and_dies(ctx: Context) -> dict[str, int]:
    if ctx.saved is None:
        for n in range(2):
            ctx.log(f"before {n}")
            ctx.checkpoint(n)
        time.sleep(0.5)  # lines are sent a few times a second
        die()
    ctx.log(f"after {ctx.saved}")
    return {"saved": ctx.saved}


@app.job(lane="inside", executor="thread")
def chatters(ctx: Context, lines: int) -> None:
    for n in range(lines):
        ctx.log(f"line {n}")
    print("x" * 50_000)


@app.job(lane="inside", executor="thread", max_tries=1)
def fails_with_secret(ctx: Context) -> Fail:
    return Fail(f"because of {SECRET}")


@app.job(lane="inside", executor="thread", max_tries=1)
def cancels_with_secret(ctx: Context) -> Cancel:
    return Cancel(f"because of {SECRET}")
