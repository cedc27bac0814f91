"""Declaring: what an application has besides its jobs. Lanes, schedules, conditions, classifiers, notifiers, executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from lanework import _notifying
from lanework._application.database import Database
from lanework._declaration import EXECUTORS as BUILT_IN
from lanework._plans import Plans
from lanework._pools.base import Executor
from lanework._schedule_values import ScheduleValues
from lanework.errors import ConfigError
from lanework.job import Declares, Job, Scheduling
from lanework.lanes import check
from lanework.notifiers import Notifier
from lanework.retries import Classifier

N = TypeVar("N", bound=Notifier)
P = ParamSpec("P")
R = TypeVar("R")


class Declarations(Database, Declares):
    classifiers: list[Classifier]
    executors: dict[str, Callable[[str], Executor]]
    _plans: Plans

    def lane(self, name: str, **values: Any) -> None:
        """First values of a lane, for the start that finds no row for it: `app.lane("interactive", max_slots=2)`. What an
        operator has set is never overwritten."""
        check(name, values)
        self._lane_values[name] = values

    def executor(self, name: str, factory: Callable[[str], Executor]) -> None:
        """Registers a place where bodies can run: `@app.job(executor=name)`. `factory` gets a lane's name and makes the
        executor of that lane, in each worker that needs it; see `Executor`."""
        if name in BUILT_IN:
            raise ConfigError(f"executor: {name!r} is built in; choose another name")
        self.executors[name] = factory

    @overload
    def schedule(self, name: str, job: Job[P, R], /, *args: Any, **values: Unpack[ScheduleValues]) -> Job[P, R]: ...

    @overload
    def schedule(self, name: str, /, **values: Unpack[ScheduleValues]) -> Scheduling: ...

    def schedule(self, name: str, job: Any = None, /, *args: Any, **values: Unpack[ScheduleValues]) -> Any:
        """First values of a schedule: `@app.schedule("nightly", cron="0 3 * * *")` above a job, or
        `app.schedule("nightly", report, "all", cron="0 3 * * *")`. Workers tell the database when they start; what an operator
        has changed, paused or removed stays so. `ScheduleValues` lists the values; `payload` has arguments by name."""
        if job is None:
            return lambda fn: self.schedule(name, fn, **values)
        declared = job if isinstance(job, Job) else self._declare(job, None, {})
        self._plans.add_schedule(name, declared.handler, args, values)
        return declared

    def condition(self, name_or_fn: Any = None, /, *, timeout: float = 60.0) -> Any:
        """Declares a function that schedules can name as their condition: `@app.condition`, `@app.condition("name")`."""
        if not callable(name_or_fn):
            return lambda fn: self._plans.add_condition(fn, name_or_fn, timeout) and fn
        self._plans.add_condition(name_or_fn, None, timeout)
        return name_or_fn

    def classifier(self, function: Classifier) -> Classifier:
        """Registers a function that says what an exception means; see `Classifier`."""
        self.classifiers.append(function)
        return function

    @overload
    def notifier(self, function: N, /) -> N: ...

    @overload
    def notifier(self, function: None = None, /, *, name: str | None = None, every: int = 60) -> Callable[[N], N]: ...

    def notifier(self, function: Any = None, /, *, name: str | None = None, every: int = 60) -> Any:
        """Registers a function that is told of dead letters, once of each: `@app.notifier`, or `@app.notifier(name="pager")`.
        Of one group it hears at most once in `every` seconds; see `Notifier`."""

        def register(function: N) -> N:
            chosen = name if name is not None else getattr(function, "__name__", "notifier")
            _notifying.register(self._app, chosen, function=function, every=every)
            return function

        return register if function is None else register(function)

    def webhook(self, url: str, *, secret: str | None = None, name: str = "webhook", every: int = 60) -> None:
        """Dead letters are posted to this address, signed with the secret. Operators may change it by `app.dead.webhooks`."""
        _notifying.register(self._app, name, url=url, secret=secret, every=every)

    def _declare_own(self) -> None:
        """The engine's own job types, in every process that works."""
        _notifying.declare(self._app)
