"""The values of a schedule: what they are, and what is wrong with those that were given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypedDict

from lanework import _ticks
from lanework._options import Options
from lanework._plain import show
from lanework.errors import InvalidJob, InvalidSchedule

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
            return {"every_s": _ticks.check_every(seconds(name, value))}
        case "tz":
            _ticks.zone(_text(name, value))
            return {"tz": value}
        case "jitter":
            return {"jitter_s": seconds(name, value, 0, 86_400)}
        case "misfire_after":
            return {"misfire_after_s": seconds(name, value, 1, 86_400)}
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


def seconds(name: str, value: Any, least: float = 0, most: float = float("inf")) -> float:
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


#: What code declares is complete: a value that it no longer gives is again what it was without it.
DEFAULTS: dict[str, Any] = {
    "tz": "UTC", "jitter_s": 0.0, "overlap": "skip", "misfire": "one", "misfire_after_s": 60.0, "condition": None, "enabled": True,
    "priority": None, "owner": None, "session": None, "tags": None,
}  # fmt: skip


def check_jitter(values: Mapping[str, Any]) -> None:
    if (every := values.get("every_s")) is not None and values.get("jitter_s", 0) >= every:
        raise InvalidSchedule(f"jitter: expected less than every ({every:g} s), got {values['jitter_s']:g} s", field="jitter")
