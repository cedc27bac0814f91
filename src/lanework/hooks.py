"""Functions that run when a process starts or stops working: load a model once, before the first job; close a client."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Hooks:
    """Sync or async functions without arguments, run in the order in which they were registered; stops in reverse."""

    def __init__(self) -> None:
        self.start: list[Callable[[], Any]] = []
        self.stop: list[Callable[[], Any]] = []
        self.child_start: list[Callable[[], Any]] = []
        self.child_stop: list[Callable[[], Any]] = []

    def on_start(self, function: F) -> F:
        """In every worker process, before it takes its first job."""
        self.start.append(function)
        return function

    def on_stop(self, function: F) -> F:
        """In every worker process, after its last job."""
        self.stop.insert(0, function)
        return function

    def on_child_start(self, function: F) -> F:
        """In every child process of the `process` executor, before its first job."""
        self.child_start.append(function)
        return function

    def on_child_stop(self, function: F) -> F:
        """In every child process, when it is replaced or ends."""
        self.child_stop.insert(0, function)
        return function

    async def run(self, functions: list[Callable[[], Any]]) -> None:
        for function in functions:
            if inspect.iscoroutinefunction(function):
                await function()
            else:
                await asyncio.to_thread(function)
