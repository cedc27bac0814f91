"""Bodies, and calls of them, for the pools of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from lanework._pools.base import Call
from lanework.context import Context
from tests.pools.app import Handler
from tests.pools.link import FakeLink


def call(fn: Callable[..., Any], **payload: Any) -> Call:
    context = Context(FakeLink(), job_id=1, attempt=1, fence=1, type="t", lane="l")
    handler: Any = Handler(fn)
    return Call(handler, context, payload, 1, 1, 1, str(uuid4()), 1)


def bare(ctx: Context, x: int = 0) -> int:
    return x + 1


async def bare_async(ctx: Context, x: int = 0) -> int:
    await asyncio.sleep(0)
    return x + 2


def raises(ctx: Context, error: type[BaseException]) -> None:
    raise error("from the body")


async def raises_async(ctx: Context, error: type[BaseException]) -> None:
    raise error("from the body")
