"""Submits that reach no database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MethodType
from typing import TYPE_CHECKING, Any, cast

from lanework._codec import decode
from lanework.job import Job, Options, Submission

if TYPE_CHECKING:
    from lanework.client import Lanework
    from lanework.handlers import Handler, Payloads


@dataclass
class Submitted:
    """One submit that a stub has taken."""

    id: int
    type: str
    arguments: dict[str, Any]
    options: Options


@dataclass
class Stub:
    submitted: list[Submitted] = field(default_factory=list)

    def of(self, job: Job[..., Any]) -> list[Submitted]:
        return [one for one in self.submitted if one.type == job.name]

    def assert_submitted(self, job: Job[..., Any], /, *args: Any, **kwargs: Any) -> Submitted:
        """With arguments: exactly these. Without: any."""
        wanted = decode(job.handler.bind(*args, **kwargs)) if args or kwargs else None
        for one in self.of(job):
            if wanted is None or one.arguments == wanted:
                return one
        seen = "\n".join(f"  {one.type} {json.dumps(one.arguments)}" for one in self.submitted) or "  nothing"
        raise AssertionError(
            f"{job.name} {json.dumps(wanted) if wanted is not None else ''} was not submitted; submitted was:\n{seen}"
        )

    def assert_nothing_submitted(self) -> None:
        if self.submitted:
            raise AssertionError(f"expected no submit, got {[one.type for one in self.submitted]}")

    def _take(self, handler: Handler, payload: str, options: Options) -> int:
        self.submitted.append(Submitted(len(self.submitted) + 1, handler.name, decode(payload), options))
        return len(self.submitted)


@contextmanager
def stub(app: Lanework) -> Iterator[Stub]:
    """Inside the block, submits of `app` are checked and remembered, and reach no database."""
    taken = Stub()

    def submit(self: Lanework, one: Submission) -> int:
        return taken._take(one.handler, one.payload, one.options)

    async def asubmit(self: Lanework, one: Submission) -> int:
        return submit(self, one)

    def submit_many(self: Lanework, handler: Handler, payloads: Payloads, options: Options) -> list[int]:
        return [taken._take(handler, payload, options) for payload in payloads]

    async def asubmit_many(self: Lanework, handler: Handler, payloads: Payloads, options: Options) -> list[int]:
        return submit_many(self, handler, payloads, options)

    replaced = {"_submit": submit, "_asubmit": asubmit, "_submit_many": submit_many, "_asubmit_many": asubmit_many}
    for name, function in replaced.items():
        setattr(app, name, MethodType(cast(Callable[..., Any], function), app))
    try:
        yield taken
    finally:
        for name in replaced:
            delattr(app, name)
