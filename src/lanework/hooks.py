"""Functions that run when a process starts or stops working (load a model once, before the first job; close a client), and when
something happens to its jobs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from lanework.errors import ConfigError

F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["started", "completed", "failed", "retried", "snoozed", "cancelled", "recovered", "maintenance"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: These happen to jobs of any process; every process that has such a hook hears of them.
ELSEWHERE: tuple[Kind, ...] = ("recovered", "maintenance")


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What a hook is told. `duration` is how long the body ran, in seconds; `outcome` the state that the job is in now."""

    kind: Kind
    job_id: int | None = None
    type: str = ""
    lane: str = ""
    attempt: int = 0
    duration: float | None = None
    outcome: str = ""
    error_class: str | None = None
    error: str | None = None
    data: dict[str, Any] = field(default_factory=dict)


H = TypeVar("H", bound=Callable[[HookEvent], Any])


class Hooks:
    """Sync or async functions without arguments, run in the order in which they were registered; stops in reverse."""

    def __init__(self) -> None:
        self.start: list[Callable[[], Any]] = []
        self.stop: list[Callable[[], Any]] = []
        self.child_start: list[Callable[[], Any]] = []
        self.child_stop: list[Callable[[], Any]] = []
        self.of: dict[str, list[Callable[[HookEvent], Any]]] = {}

    def on(self, kind: Kind) -> Callable[[H], H]:
        if kind not in KINDS:
            raise ConfigError(f"on: expected one of {', '.join(KINDS)}, got {kind!r}")

        def registered(function: H) -> H:
            self.of.setdefault(kind, []).append(function)
            return function

        return registered

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
