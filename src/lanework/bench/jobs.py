"""The jobs that are measured. They do nothing: what remains is the engine."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanework import Context, Job, Lanework

if TYPE_CHECKING:
    from collections.abc import Sequence

LANES = {"bench": 2000, "threads": 32, "children": os.cpu_count() or 1, "one_thread": 1, "one_child": 1}


@dataclass(frozen=True, slots=True)
class Jobs:
    app: Lanework
    noop: Job[[int], None]
    ping: Job[[float], float]
    thread: Job[[int], None]
    process: Job[[int], None]
    one_thread: Job[[int], None]
    one_process: Job[[int], None]


async def noop(ctx: Context, i: int) -> None:
    return None


async def ping(ctx: Context, sent: float) -> float:
    """How many milliseconds ago the call of `submit` began, by the machine's clock."""
    return (time.time() - sent) * 1000


def body(ctx: Context, i: int) -> None:
    return None


def declare(app: Lanework) -> Jobs:
    return Jobs(
        app=app,
        noop=app.job("noop", lane="bench")(noop),
        ping=app.job("ping", lane="bench")(ping),
        thread=app.job("thread", lane="threads", executor="thread")(body),
        process=app.job("process", lane="children", executor="process")(body),
        one_thread=app.job("one_thread", lane="one_thread", executor="thread")(body),
        one_process=app.job("one_process", lane="one_child", executor="process")(body),
    )


def declare_types(app: Lanework, count: int) -> Sequence[Job[[int], None]]:
    """As many types as asked for, all in one lane."""
    return [app.job(f"type_{n}", lane="types")(noop) for n in range(count)]
