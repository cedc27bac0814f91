"""What code declares besides jobs: schedules, their conditions, maintenance tasks. Python callbacks run as jobs of a system type
(`<name>:condition`, `<name>:maintenance`), claimed by a worker that has them; the process that keeps time runs none of them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lanework._codec import PAYLOAD_LIMIT, decode, encode
from lanework._plain import show
from lanework._schedule_values import DEFAULTS, Seconds, check_jitter, check_name, checked, seconds
from lanework._store.maintenance import end_task, register_tasks
from lanework._store.schedules import answer_condition, register_schedules
from lanework._store.verb import arun, run
from lanework.context import Context
from lanework.errors import ConfigError, InvalidSchedule
from lanework.handlers import Declaration, Handler

if TYPE_CHECKING:
    from lanework.client import Lanework

logger = logging.getLogger("lanework")
#: The lane of conditions and maintenance functions: a lane full of long jobs does not hold them up.
SYSTEM_LANE = "lanework"


class Plans:
    """What an application has declared. Its workers tell the database when they start."""

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self.schedules: dict[str, dict[str, Any]] = {}
        self.tasks: dict[str, dict[str, Any]] = {}
        self._conditions: dict[str, Callable[..., Any]] = {}

    async def register(self) -> None:
        if self.tasks:
            await self._app._arun(register_tasks(list(self.tasks.values())))
        if not self.schedules:
            return
        for name, did in (await self._app._arun(register_schedules(list(self.schedules.values())))).items():
            if did != "same":
                logger.info("schedule %s: %s", name, did)

    def add_schedule(self, name: str, handler: Handler, args: tuple[Any, ...], given: Mapping[str, Any]) -> None:
        check_name(name)
        if name in self.schedules:
            raise ConfigError(f"two schedules are named {name!r}; give one another name")
        if "cron" not in given and "every" not in given:
            raise InvalidSchedule(f"schedule {name!r}: say when, with cron= or every=", field="cron")
        values = {"payload": {}, **DEFAULTS, **self.values(given), "type": handler.name, "version": handler.version}
        values["payload"] = decode(handler.bind(*args, **values["payload"]))
        check_jitter(values)
        self.schedules[name] = {"name": name, "cron": None, "every_s": None, **values}

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        condition = given.get("condition")
        if callable(condition):
            given = {**given, "condition": self.add_condition(condition)}
        return checked(given)

    # -- callbacks -----------------------------------------------------------------------------------------------------

    def add_condition(self, fn: Callable[..., Any], name: str | None = None, timeout: Seconds = 60.0) -> str:
        """A job type for it, once. Its name is the function's unless given."""
        name = check_name(name or getattr(fn, "__name__", ""))
        if self._conditions.get(name) is fn:
            return name
        if name in self._conditions:
            raise ConfigError(f"two conditions are named {name!r}; give one another name")
        self._conditions[name] = fn
        self._system_type(f"{name}:condition", _asking(fn), timeout)
        return name

    def add_task(self, name: str, fn: Callable[..., Any], given: Mapping[str, Any]) -> None:
        check_name(name)
        if name in self.tasks:
            raise ConfigError(f"two maintenance tasks are named {name!r}; give one another name")
        timeout = seconds("timeout", given.get("timeout", 300.0), 1, 86_400)
        times = {key: given[key] for key in ("cron", "every", "tz") if given.get(key) is not None}
        if ("cron" in times) == ("every" in times):
            raise InvalidSchedule(f"maintenance {name!r}: say when, with cron= or every=", field="cron")
        description = (inspect.getdoc(fn) or "").partition("\n")[0]
        times = {"cron": None, "every_s": None, "tz": "UTC", **checked(times)}
        self.tasks[name] = {"name": name, "description": description, "timeout_s": timeout, **times}
        self._system_type(f"{name}:maintenance", _keeping(fn), timeout)

    def _system_type(self, name: str, fn: Callable[..., Any], timeout: Seconds) -> None:
        self._app._lane_values.setdefault(SYSTEM_LANE, {"max_slots": None, "worker_slots": 4, "poll_interval_ms": 2000})
        options = Declaration(lane=SYSTEM_LANE, timeout=timeout, max_tries=1, priority=10, internal=True)
        self._app.handlers.add(Handler.declare(fn, name, **options))


def _verdict(answer: Any) -> tuple[bool, str | None]:
    if isinstance(answer, Mapping):
        return True, encode(dict(answer), field="condition", limit=PAYLOAD_LIMIT)
    if answer is not None and not isinstance(answer, bool):
        raise TypeError(f"a condition returns True, False, None or a dict of arguments, got {show(answer)}")
    return bool(answer), None


def _asking(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Asks, and tells the database in the transaction that ends this very job."""
    if inspect.iscoroutinefunction(fn):

        async def aask(ctx: Context, schedule: str, tick: str) -> Any:
            yes, arguments = _verdict(await fn(ctx))
            async with ctx.atransaction() as tx:
                did = await arun(tx.connection, answer_condition(schedule, tick, ctx.job_id, yes=yes, arguments=arguments))
                return await tx.finish(did)

        return aask

    def ask(ctx: Context, schedule: str, tick: str) -> Any:
        yes, arguments = _verdict(fn(ctx))
        with ctx.transaction() as tx:
            did = run(tx.connection, answer_condition(schedule, tick, ctx.job_id, yes=yes, arguments=arguments))
            return tx.finish(did)

    return ask


def _counts(answer: Any) -> dict[str, Any]:
    return dict(answer) if isinstance(answer, Mapping) else {} if answer is None else {"result": answer}


def _keeping(fn: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(fn):

        async def akeep(ctx: Context, task: str, fence: int) -> Any:
            counts = _counts(await fn(ctx))
            async with ctx.atransaction() as tx:
                await arun(tx.connection, end_task(task, fence, "ok", "", counts))
                return await tx.finish(counts)

        return akeep

    def keep(ctx: Context, task: str, fence: int) -> Any:
        counts = _counts(fn(ctx))
        with ctx.transaction() as tx:
            run(tx.connection, end_task(task, fence, "ok", "", counts))
            return tx.finish(counts)

    return keep
