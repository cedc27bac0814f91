"""Jobs as tasks of the worker's own event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from lanework._capture import captured
from lanework._pools._body import wait_patiently
from lanework._pools.base import Call, Quarantined
from lanework._pools.remote import RemoteError

#: Seconds a cancelled body has to end before its place is quarantined.
PATIENCE_S = 2.0


class AsyncPool:
    """`Executor` that is nothing but the call. The worker owns the task around it, and ends it with `end`."""

    async def start(self) -> None:
        """There is nothing to start."""

    async def run(self, call: Call) -> Any:
        handler = call.handler
        try:
            with captured(call.context._link):
                return await handler.fn(call.context, **handler.load(call.payload, call.version))
        except asyncio.CancelledError as error:
            if _was_asked():
                raise
            raise RemoteError.of(error) from None
        except (SystemExit, KeyboardInterrupt) as error:
            # As themselves they would end the worker's loop, and every job in it.
            raise RemoteError.of(error) from None

    async def stop(self) -> None:
        """There is nothing to stop."""


async def end(body: asyncio.Task[Any], *, patience: float = PATIENCE_S) -> None:
    """Cancels the task that runs a body and waits for it; raises `Quarantined` if it goes on all the same."""
    body.cancel()
    if not await wait_patiently(body, patience):
        raise Quarantined(body)


def _was_asked() -> bool:
    """A body can also raise `CancelledError` by itself, by waiting for what was cancelled: an error like others."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
