"""What code declares besides jobs: schedules, their conditions, maintenance tasks. Python callbacks run as jobs of a system type
(`<name>:condition`, `<name>:maintenance`), claimed by a worker that has them; the process that keeps time runs none of them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from lanework import _ticks
from lanework._codec import PAYLOAD_LIMIT, decode, encode
from lanework._options import Options
from lanework._plain import show
from lanework._store.maintenance import end_task, register_tasks
from lanework._store.schedules import answer_condition, register_schedules
from lanework._store.verb import arun, run
from lanework.context import Context
from lanework.errors import ConfigError, InvalidJob, InvalidSchedule
from lanework.handlers import Declaration, Handler

if TYPE_CHECKING:
    from lanework.client import Lanework

logger = logging.getLogger("lanework")

#: The lane of conditions and maintenance functions: a lane full of long jobs does not hold them up.
SYSTEM_LANE = "lanework"
OVERLAPS = ("skip", "queue", "cancel")
MISFIRES = ("skip", "one", "all")
Seconds = float | timedelta
Condition = str | Callable[..., Any]


class ScheduleValues(TypedDict, total=False):
    """The values of a schedule.

    cron            5 fields, or 6 with seconds first; read by the wall clock of `tz`
    every           instead of cron: seconds or a timedelta, 1 s to 366 days; absolute time
    tz              an IANA name; UTC unless given
    jitter          up to so many seconds later, the same for a tick whoever asks; 0 unless given
    overlap         while a job of it has not ended: `skip` the tick, `queue` the job behind it, `cancel` it for the new one
    misfire         ticks that nobody fired in time: `skip` them, run `one` for all, or `all` (at most 100)
    misfire_after   seconds after which a tick counts as missed; 60 unless given
    condition       a function, or its name: asked before each job; False: nothing to do; a dict: more arguments for the job
    """

    payload: Mapping[str, Any]
    cron: str
    every: Seconds
    tz: str
    jitter: Seconds
    overlap: str
    misfire: str
    misfire_after: Seconds
    condition: Condition | None
    enabled: bool
    priority: int | None
    owner: str | None
    session: str | None
    tags: list[str] | None


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values as the database has them; `InvalidSchedule` names the one at fault."""
    for name in given.keys() - ScheduleValues.__annotations__.keys() - {"type"}:
        known = ", ".join(ScheduleValues.__annotations__)
        raise InvalidSchedule(f"{name}: a schedule has no such value; it has {known}", field=name)
    if "cron" in given and "every" in given:
        raise InvalidSchedule(f"cron, every: expected one of them, got both {given['cron']!r} and {given['every']!r}", field="cron")
    return {column: value for name, one in given.items() for column, value in _check(name, one).items()}


def _check(name: str, value: Any) -> dict[str, Any]:  # noqa: PLR0911 - one line per value
    match name:
        case "cron":
            return {"cron": _ticks.check_cron(value)}
        case "every":
            return {"every_s": _ticks.check_every(_seconds(name, value))}
        case "tz":
            _ticks.zone(_text(name, value))
            return {"tz": value}
        case "jitter":
            return {"jitter_s": _seconds(name, value, 0, 86_400)}
        case "misfire_after":
            return {"misfire_after_s": _seconds(name, value, 1, 86_400)}
        case "overlap":
            return {name: _one_of(name, value, OVERLAPS)}
        case "misfire":
            return {name: _one_of(name, value, MISFIRES)}
        case "enabled":
            if not isinstance(value, bool):
                raise InvalidSchedule(f"enabled: expected True or False, got {show(value)}", field=name)
            return {name: value}
        case "payload":
            return {name: _payload(value)}
        case "priority" | "owner" | "session" | "tags":
            return {name: _option(name, value)}
        case "condition":
            return {name: None if value is None else _text(name, value)}
    return {name: _text(name, value)}


def check_name(name: Any) -> str:
    allowed = isinstance(name, str) and 1 <= len(name) <= 100 and name[0].isalnum()
    if not allowed or not all(each.isascii() and (each.isalnum() or each in "_.:/-") for each in name):
        raise InvalidSchedule(f"name: expected 1 to 100 letters, digits and _ . : / -, got {show(name)}", field="name")
    return str(name)


def _seconds(name: str, value: Any, least: float = 0, most: float = float("inf")) -> float:
    found = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(found, bool) or not isinstance(found, (int, float)) or found != found or not least <= found <= most:  # noqa: PLR0124
        bounds = "seconds or a timedelta" if most == float("inf") else f"{least:g} to {most:g} seconds"
        raise InvalidSchedule(f"{name}: expected {bounds}, got {show(value)}", field=name)
    return float(found)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= 200:
        raise InvalidSchedule(f"{name}: expected text of 1 to 200 characters, got {show(value)}", field=name)
    return value


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise InvalidSchedule(f"{name}: expected one of {', '.join(choices)}, got {show(value)}", field=name)
    return str(value)


def _payload(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise InvalidSchedule(f"payload: expected a dict of arguments, got {show(value)}", field="payload")
    return dict(value)


def _option(name: str, value: Any) -> Any:
    if value is None:
        return None
    try:
        found = getattr(Options().changed({name: value}), name)  # type: ignore[misc]
    except InvalidJob as error:
        raise InvalidSchedule(str(error), field=name) from None
    return list(found) if name == "tags" else found


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
        timeout = _seconds("timeout", given.get("timeout", 300.0), 1, 86_400)
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


#: What code declares is complete: a value that it no longer gives is again what it was without it.
DEFAULTS: dict[str, Any] = {
    "tz": "UTC", "jitter_s": 0.0, "overlap": "skip", "misfire": "one", "misfire_after_s": 60.0, "condition": None, "enabled": True,
    "priority": None, "owner": None, "session": None, "tags": None,
}  # fmt: skip


def check_jitter(values: Mapping[str, Any]) -> None:
    if (every := values.get("every_s")) is not None and values.get("jitter_s", 0) >= every:
        raise InvalidSchedule(f"jitter: expected less than every ({every:g} s), got {values['jitter_s']:g} s", field="jitter")


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
