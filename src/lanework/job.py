"""`Job[P, R]`, a declared job type, typed like its function: declare it, submit it, call it.

@app.job(lane="interactive", timeout=600)
async def digest(ctx: Context, url: str, words: int = 200) -> dict[str, int]: ...

handle = digest.submit("https://…", words=100)      # Handle[dict[str, int]]; a wrong argument is a type error
digest.options(priority=10).submit("https://…")
digest.submit_many([("https://a",), {"url": "https://b", "words": 50}])
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from lanework._handle import Handle, JobInfo, Reading
from lanework._options import Options, OptionValues
from lanework._plain import show
from lanework.context import Context
from lanework.errors import ConfigError, InvalidJob
from lanework.estimates import Estimate
from lanework.handlers import Declaration, Handler, Handlers, Payloads, Upgrade
from lanework.outcomes import Outcome

__all__ = ["Declares", "Handle", "Job", "JobInfo", "Options", "Submission", "Submitter", "Submitting"]

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
#: What an estimator returns.
E = TypeVar("E", bound=Estimate | Outcome | Coroutine[Any, Any, Estimate | Outcome])

#: The arguments of one of many submits: a tuple has positional ones, a mapping has named ones.
Item = tuple[Any, ...] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Submission:
    """One job to be stored; everything about it is checked."""

    handler: Handler
    payload: str
    options: Options


class Submitting(Reading, Protocol):
    """What a job asks of its application. Answers are job ids, in the order of the payloads."""

    def _submit(self, submission: Submission) -> int: ...

    async def _asubmit(self, submission: Submission) -> int: ...

    def _submit_many(self, handler: Handler, payloads: Payloads, options: Options) -> Sequence[int]: ...

    async def _asubmit_many(self, handler: Handler, payloads: Payloads, options: Options) -> Sequence[int]: ...

    def _add_handler(self, handler: Handler) -> Handler: ...


class Submitter(Generic[P, R_co]):
    """A job type with options for its submits. Immutable; `options` makes another one."""

    def __init__(self, app: Submitting, handler: Handler, options: Options | None = None) -> None:
        self._app = app
        self._options = options or Options()
        self.handler = handler

    def options(self, **values: Unpack[OptionValues]) -> Submitter[P, R_co]:
        """For example `digest.options(priority=10, run_at=timedelta(hours=1)).submit(…)`; see `Options`."""
        return Submitter(self._app, self.handler, self._options.changed(values))

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R_co]:
        """Stores a job and returns at once. `InvalidJob` names what is wrong, and then nothing is stored."""
        return self._handle(self._app._submit(self._submission(args, kwargs)))

    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R_co]:
        return self._handle(await self._app._asubmit(self._submission(args, kwargs)))

    def submit_many(self, items: Iterable[Item]) -> list[Handle[R_co]]:
        """Stores all or none, fast: 100,000 in one call is fine. Each item is a tuple or a mapping of arguments."""
        payloads = self._payloads(items)
        return self._handles(self._app._submit_many(self.handler, payloads, self._options) if payloads else [])

    async def asubmit_many(self, items: Iterable[Item]) -> list[Handle[R_co]]:
        payloads = self._payloads(items)
        return self._handles(await self._app._asubmit_many(self.handler, payloads, self._options) if payloads else [])

    def _submission(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Submission:
        return Submission(self.handler, self.handler.bind(*args, **kwargs), self._options)

    def _payloads(self, items: Iterable[Item]) -> Payloads:
        if self._options.idempotency_key is not None:
            raise InvalidJob("idempotency_key: one key names one job, not many; submit them one by one", field="idempotency_key")
        if isinstance(items, (str, bytes, Mapping)):
            raise InvalidJob(f"items: expected a list of tuples or dicts, got {show(items)}", field="items")
        return self.handler.bind_many(items if isinstance(items, (list, tuple)) else list(items))

    def _handle(self, job_id: int) -> Handle[R_co]:
        return Handle(self._app, job_id, self._pending())

    def _handles(self, ids: Iterable[int]) -> list[Handle[R_co]]:
        app, pending = self._app, self._pending()
        return [Handle(app, job_id, pending) for job_id in ids]

    def _pending(self) -> Callable[[], bool] | None:
        if self._options.connection is None:
            return None
        from lanework._store.callers import is_in_transaction  # noqa: PLC0415 - the store imports this module

        return is_in_transaction(self._options.connection)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.handler.name!r}>"


class Job(Submitter[P, R_co]):
    """A declared job type. Calling it calls the plain function, for unit tests: `digest(fake_context, "https://…")`."""

    def __init__(self, app: Submitting, handler: Handler) -> None:
        super().__init__(app, handler)
        functools.update_wrapper(self, handler.fn, updated=())

    @property
    def name(self) -> str:
        return self.handler.name

    def __call__(self, ctx: Context, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self.handler.fn(ctx, *args, **kwargs)

    @overload
    def estimator(self, fn: Callable[Concatenate[Context, P], E], /) -> Callable[Concatenate[Context, P], E]: ...

    @overload
    def estimator(self, /, **options: Unpack[EstimatorOptions]) -> _Estimates[P]: ...

    def estimator(self, fn: Any = None, /, **options: Any) -> Any:
        """Registers a function that says what a job with these arguments would cost: `@digest.estimator`, with the same parameters,
        returning an `Estimate`. It runs as a job of its own, `<name>:estimate`, before the job may start; its steps are kept for
        the run. Options: `executor`, `timeout` (300 s), `max_tries`, `lane` (`estimates`), `memory_limit`."""
        if fn is None:
            return lambda fn: self.estimator(fn, **options)
        self._app._add_handler(self.handler.declare_estimator(fn, **options))
        return fn

    def upgrade(self, *, from_version: int) -> Callable[[Upgrade], Upgrade]:
        """Registers a function that turns a payload of `from_version` into one of the next version.

        Upgrades are chained: with version 3 declared and upgrades from 1 and from 2, payloads of 1, 2 and 3 are taken.
        """

        def register(upgrade: Upgrade) -> Upgrade:
            self.handler.add_upgrade(upgrade, from_version)
            return upgrade

        return register


class EstimatorOptions(TypedDict, total=False):
    """The options of `@job.estimator`, for type checkers. `JobSpec` says what they mean."""

    lane: str
    executor: str
    max_tries: int
    timeout: float | timedelta | None
    memory_limit: int | None


class _Estimates(Protocol[P]):
    """`@job.estimator(timeout=…)` before it has its function."""

    def __call__(self, fn: Callable[Concatenate[Context, P], E], /) -> Callable[Concatenate[Context, P], E]: ...


class _Declare(Protocol):
    """`@app.job("name", lane=…)` before it has its function."""

    @overload
    def __call__(self, fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R | Outcome]], /) -> Job[P, R]: ...

    @overload
    def __call__(self, fn: Callable[Concatenate[Context, P], R | Outcome], /) -> Job[P, R]: ...


class Scheduling(Protocol):
    """`@app.schedule("name", cron=…)` before it has its job, or the function that becomes one."""

    @overload
    def __call__(self, fn: Job[P, R], /) -> Job[P, R]: ...

    @overload
    def __call__(self, fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R | Outcome]], /) -> Job[P, R]: ...

    @overload
    def __call__(self, fn: Callable[Concatenate[Context, P], R | Outcome], /) -> Job[P, R]: ...


class Declares(Submitting):
    """What makes an application one: `@app.job`. The result type of a job is that of its function without outcomes."""

    handlers: Handlers

    @overload
    def job(self, fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R | Outcome]], /) -> Job[P, R]: ...

    @overload
    def job(self, fn: Callable[Concatenate[Context, P], R | Outcome], /) -> Job[P, R]: ...

    @overload
    def job(self, name: str | None = None, /, **options: Unpack[Declaration]) -> _Declare: ...

    def job(self, name_or_fn: Any = None, /, **options: Any) -> Any:
        """Declares a job type: `@app.job`, `@app.job()`, `@app.job("name", lane="…")`. `JobSpec` lists the options."""
        if callable(name_or_fn):
            return self._declare(name_or_fn, None, options)
        if name_or_fn is not None and not isinstance(name_or_fn, str):
            raise ConfigError(f"@app.job takes a name or a function first, got {show(name_or_fn)}")
        return lambda fn: self._declare(fn, name_or_fn, options)

    def _add_handler(self, handler: Handler) -> Handler:
        return self.handlers.add(handler)

    def _declare(self, fn: Callable[..., Any], name: str | None, options: dict[str, Any]) -> Job[Any, Any]:
        if isinstance(fn, Job):
            raise ConfigError(f"job {fn.name!r} is declared twice: one function, one @app.job")
        return Job(self, self.handlers.add(Handler.declare(fn, name, **options)))
