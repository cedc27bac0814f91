"""For the tests of applications that use lanework.

testing.run(digest, "https://…")              the handler here and now, with a context that remembers; no database
with testing.stub(app) as stub: …             submits are remembered, not stored; no database, no background work
stub.assert_submitted(digest, "https://…")
testing.drain(app, "interactive")             works what is queued, for real, until nothing is left
testing.estimate(digest, "https://…")         what its estimator says, here and now
testing.approve(app)                          approves what waits for it
testing.Clock(app).advance(hours=1)           moves the engine's time; nothing sleeps
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import MethodType
from typing import TYPE_CHECKING, Any, cast

from lanework._children import ChildResult
from lanework._codec import RESULT_LIMIT, decode, encode
from lanework._store.testing import claimable, move_time
from lanework.context import Context
from lanework.errors import ClaimLost, ConfigError, InvalidResult
from lanework.estimates import Estimate
from lanework.handlers import ESTIMATES
from lanework.job import Handle, Job, Options, Submission
from lanework.outcomes import ItemError, Partial
from lanework.retries import judge

if TYPE_CHECKING:
    from lanework._store.keeper import AsyncKeeper, Keeper
    from lanework.client import Lanework
    from lanework.handlers import Handler, Payloads


class SimulatedCrash(BaseException):
    """The process dies here. Not an `Exception`: no handler may catch it by accident."""


class RecordingLink:
    """A link without an engine: keeps what the handler said and stored, under the same rules."""

    def __init__(self) -> None:
        self.progress: list[tuple[float | None, str]] = []
        self.logs: list[tuple[str, str]] = []
        self.checkpoints: list[Any] = []
        self.steps: dict[str, str] = {}
        self.children: dict[str, tuple[int, str, str]] = {}
        self.child_results: dict[str, ChildResult] = {}
        self.item_errors: list[dict[str, Any]] = []
        self.spent: list[dict[str, Any]] = []
        self.permits: list[tuple[str, ...]] = []
        self.reserved: list[str] = []
        self.crash_at: set[str] = set()
        self.superseded = False

    def tell(self, op: str, data: dict[str, Any]) -> None:
        if op == "progress":
            self.progress.append((data["fraction"], data["message"]))
        elif op == "item_errors":
            self.item_errors.extend(data["errors"])
        elif op == "log":
            self.logs.append((data["stream"], data["text"]))

    def ask(self, op: str, data: dict[str, Any]) -> Any:  # noqa: PLR0911 - one answer per question
        match op:
            case "get_step":
                return {"text": self.steps[data["key"]], "blob": None} if data["key"] in self.steps else None
            case "get_items":
                return {key: {"text": text, "blob": None} for key, text in self.steps.items() if key.startswith(data["prefix"])}
            case "children":
                return [[name, id, type, *self._outcome_of(name)] for name, (id, type, _) in self.children.items()]
            case "spent":
                if data["key"] not in [one["key"] for one in self.spent]:
                    self.spent.append(data)
                return None
        if self.superseded:
            raise ClaimLost(f"{op}: this attempt was superseded")
        match op:
            case "save_step":
                self._reach(f"before_step:{data['key']}")
                self.steps.setdefault(data["key"], data["text"])
                self._reach(f"after_step:{data['key']}")
            case "submit_children":
                for name, payload in zip(data["names"], data["payloads"], strict=True):
                    self.children.setdefault(name, (len(self.children) + 2, data["type"], payload))
                return [[name, self.children[name][0], "test"] for name in data["names"]]
            case "permit_take":
                self.permits.append(tuple(data["names"]))
                return {"token": str(len(self.permits)), "fence": len(self.permits)}
            case "reserve":
                self.reserved.append(data["amount"])
                return None
            case "checkpoint":
                self.checkpoints.append(decode(encode(data["state"], field="checkpoint", limit=RESULT_LIMIT, error=InvalidResult)))
        return None

    async def aask(self, op: str, data: dict[str, Any]) -> Any:
        return self.ask(op, data)

    def _outcome_of(self, name: str) -> list[Any]:
        found = self.child_results.get(name)
        if found is None:
            return ["completed", None, None, None]
        return [found.status, json.dumps(found.result), found.error_class, found.error]

    def _reach(self, point: str) -> None:
        if point in self.crash_at:
            self.crash_at.discard(point)
            raise SimulatedCrash(point)

    def database(self) -> Keeper:
        raise ConfigError("this handler writes to the database: test it with testing.drain, which has one")

    async def adatabase(self) -> AsyncKeeper:
        raise ConfigError("this handler writes to the database: test it with testing.adrain, which has one")


class RecordingContext(Context):
    """A context without an engine: tells what the handler did, and keeps its steps for the next attempt."""

    __slots__ = ()

    @classmethod
    def make(cls, type: str = "test", *, saved: Any = None, attempt: int = 1, owner: str | None = None) -> RecordingContext:
        return cls(RecordingLink(), job_id=1, attempt=attempt, fence=attempt, type=type, lane="test", owner=owner, saved=saved)

    @property
    def record(self) -> RecordingLink:
        assert isinstance(self._link, RecordingLink)
        return self._link

    @property
    def progress_reports(self) -> list[tuple[float | None, str]]:
        return self.record.progress

    @property
    def log_entries(self) -> list[tuple[str, str]]:
        return self.record.logs

    @property
    def checkpoints(self) -> list[Any]:
        return self.record.checkpoints

    @property
    def cost(self) -> float:
        """The sum of its `ctx.spent`."""
        return float(sum(one["amount"] for one in self.record.spent))

    @property
    def steps(self) -> dict[str, Any]:
        """The stored steps, decoded."""
        return {key: decode(text) for key, text in self.record.steps.items()}

    def crash_at(self, *points: str) -> RecordingContext:
        """`before_step:NAME` or `after_step:NAME`: there the attempt dies with `SimulatedCrash`, once."""
        self.record.crash_at.update(points)
        return self

    def supersede(self) -> None:
        """From now on another attempt owns the job: every write raises `ClaimLost`."""
        self.record.superseded = True

    def next_attempt(self) -> RecordingContext:
        """The context of the attempt after this one: same job, same steps, last checkpoint."""
        again = type(self)(
            self._link, job_id=self.job_id, attempt=self.attempt + 1, fence=self.fence + 1, type=self.type, lane=self.lane,
            owner=self.owner, saved=self.record.checkpoints[-1] if self.record.checkpoints else self._saved, past=True,
        )  # fmt: skip
        self.record.superseded = False
        return again


def run(job: Job[..., Any], /, *args: Any, ctx: RecordingContext | None = None, **kwargs: Any) -> Any:
    """Runs one attempt of a handler inline. Arguments go through the same checks and the same JSON as in a real submit, and so
    does the result; an outcome (`Snooze`, `Fail`, …) comes back as it is, an exception is raised. If items of a map failed,
    a `Partial` comes back, as it would be stored."""
    return asyncio.run(arun(job, *args, ctx=ctx, **kwargs))


async def arun(job: Job[..., Any], /, *args: Any, ctx: RecordingContext | None = None, **kwargs: Any) -> Any:
    context = ctx or RecordingContext.make(job.name)
    handler = job.handler
    arguments = handler.load(decode(handler.bind(*args, **kwargs)), handler.version)
    if handler.is_async:
        value = await handler.fn(context, **arguments)
    else:  # in a thread, as a worker would: sync handlers may block
        value = await asyncio.to_thread(handler.fn, context, **arguments)
    if type(value).__module__ == "lanework.outcomes":
        return value
    result = decode(encode(value, field="result", limit=RESULT_LIMIT, error=InvalidResult))
    errors = [ItemError(**error) for error in context.record.item_errors]
    return Partial(result, errors) if errors else result


def estimate(job: Job[..., Any], /, *args: Any, ctx: RecordingContext | None = None, **kwargs: Any) -> Estimate:
    """Runs a job's estimator inline. With a `ctx`, its steps are there for a run with `ctx.next_attempt()`."""
    estimator = job.handler.estimator
    if estimator is None:
        raise ConfigError(f"job {job.name!r} has no estimator; declare one with @{job.name}.estimator")
    return Estimate(**run(Job(job._app, estimator), *args, ctx=ctx or RecordingContext.make(estimator.name), **kwargs))


def approve(app: Lanework, *jobs: Handle[Any] | int, limit: float | None = None, by: str = "tests") -> list[int]:
    """Approves these jobs, or all that wait for an approval; answers their ids. Estimates are work: `drain` first."""
    ids = [job if isinstance(job, int) else job.id for job in jobs] or [
        job.id for job in app.list(status="awaiting_approval", limit=1000)
    ]
    for job_id in ids:
        app.approve(job_id, limit=limit, by=by)
    return ids


def work(job: Job[..., Any], /, *args: Any, ctx: RecordingContext | None = None, **kwargs: Any) -> Any:
    """Runs a handler as a worker would: again after a crash or an error that is tried again, with its stored steps, until it
    ends, its tries are used up (the last error is raised), or its error is final. Nothing waits: no backoff."""
    context = ctx or RecordingContext.make(job.name)
    tries = 0
    while True:
        try:
            return run(job, *args, ctx=context, **kwargs)
        except SimulatedCrash:
            context = context.next_attempt()
        except Exception as error:
            verdict = judge(error, tries_used=tries, base=job.handler.backoff_base)
            tries += verdict.uses_try
            if verdict.action == "fail" or tries >= job.handler.max_tries:
                raise
            context = context.next_attempt()


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


def drain(app: Lanework, *lanes: str, timeout: float = 60.0) -> None:
    """Works the queued jobs of these lanes (or all), with a real worker in this process, until nothing is claimable or runs.

    Delayed jobs are left alone: move the clock first. Jobs that wait for an estimate get it; those that then wait for an approval
    are left alone: `approve` them, and drain again.
    """

    async def alone() -> None:
        try:
            await adrain(app, *lanes, timeout=timeout)
        finally:
            await app._close_loop()  # the connections of this loop end with it; the application stays open

    asyncio.run(alone())


async def adrain(app: Lanework, *lanes: str, timeout: float = 60.0) -> None:
    served = list(lanes) or None
    if served and any(handler.estimates for handler in app.handlers.values()):
        served.append(ESTIMATES)
    async with asyncio.timeout(timeout), app.worker(lanes=served, notify=False) as worker:
        while await app._arun(claimable(served, list(app.handlers))):
            worker.poller.wake()
            await asyncio.sleep(0.02)


class Clock:
    """Moves `lanework.now()` of a test's database. Refuses a database whose name does not say that it is for tests."""

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self.offset = timedelta()

    def advance(self, **by: float) -> None:
        """`clock.advance(hours=1)`: everything that is due by then becomes due."""
        self.offset += timedelta(**by)
        self._app._run(move_time(self.offset))

    async def aadvance(self, **by: float) -> None:
        self.offset += timedelta(**by)
        await self._app._arun(move_time(self.offset))

    def reset(self) -> None:
        self.offset = timedelta()
        self._app._run(move_time(self.offset))
