"""One thread for the models of this process: they are used one call at a time, and never on the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class _Thread:
    """A forked child has none of its parent's threads, so it makes its own."""

    def __init__(self) -> None:
        self.renew()
        os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="kg-local-model")


_thread = _Thread()


async def alone(act: Callable[[], T]) -> T:
    """Callers take turns. A caller that is cancelled waits for nothing: what has not begun is not done."""
    return await asyncio.get_running_loop().run_in_executor(_thread.executor, act)
