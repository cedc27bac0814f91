"""What a submit may say beside its arguments: `job.options(priority=10, tags=["night"]).submit(…)`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any, TypedDict

from lanework._plain import show, type_name
from lanework.errors import InvalidJob

#: A moment outside these is a mistake, and 99999 is more than a Python datetime can hold when it is read back.
YEARS = range(2000, 2201)
CENTURY = timedelta(days=36_525)
MOST_TAGS = 20


class OptionValues(TypedDict, total=False):
    """The arguments of `options`, for type checkers. None: not set."""

    priority: int | None
    run_at: datetime | timedelta | None
    idempotency_key: str | None
    owner: str | None
    tags: Iterable[str] | None
    max_age: float | timedelta | None
    max_tries: int | None
    session: str | None
    continues: Any
    from_step: str | None
    connection: Any


@dataclass(frozen=True, slots=True)
class Options:
    """Checked options of a submit. What is None is as the job type declares."""

    #: −1000 to 1000, higher first.
    priority: int | None = None
    #: Not before this moment, or this long after the submit by the database's clock.
    run_at: datetime | timedelta | None = None
    #: 1 to 200 characters. The same key and arguments: the same job; the same key, other arguments: refused.
    idempotency_key: str | None = None
    #: Whose job it is, 1 to 200 characters.
    owner: str | None = None
    #: At most 20 of 1 to 100 characters.
    tags: tuple[str, ...] = ()
    #: Seconds after submit by which the job must have finished.
    max_age: float | None = None
    #: 1 to 100.
    max_tries: int | None = None
    #: Jobs of one session run one at a time, in the order of their submits. 1 to 200 characters.
    session: str | None = None
    #: The id (or handle) of a job that has ended: this one inherits its stored steps and pays only for the rest.
    continues: int | None = None
    #: With `continues`: the steps from this one on are not inherited.
    from_step: str | None = None
    #: The caller's own connection or session: the job exists if and only if its transaction commits.
    connection: Any = None

    def changed(self, values: OptionValues) -> Options:
        """A copy with these values, checked. An unknown name or a bad value is an `InvalidJob` with its field."""
        return replace(self, **{name: _checked(name, value) for name, value in values.items()})


def _checked(name: str, value: Any) -> Any:
    check = _CHECKS.get(name)
    if check is None:
        close = get_close_matches(name, _CHECKS, n=1)
        hint = f": did you mean {close[0]!r}?" if close else f"; known: {', '.join(_CHECKS)}"
        raise InvalidJob(f"unknown option {name!r}{hint}", field=name)
    if value is None:
        return () if name == "tags" else None
    return check(name, value)


def _wrong(name: str, expected: str, value: Any) -> InvalidJob:
    return InvalidJob(f"{name}: expected {expected}, got {show(value)} ({type_name(type(value))})", field=name)


def _int(least: int, most: int) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _wrong(name, f"an int from {least} to {most}", value)
        return int(value)

    return check


def _text(most: int) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or not 1 <= len(value) <= most:
            raise _wrong(name, f"text of 1 to {most} characters", value)
        if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
            raise _wrong(name, "text without NUL characters and lone surrogates", value)
        return str.__str__(value)

    return check


def _tags(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise _wrong(name, "a list of texts", value)
    check = _text(100)
    tags = tuple(dict.fromkeys(check(name, tag) for tag in value))
    if len(tags) > MOST_TAGS:
        raise _wrong(name, f"at most {MOST_TAGS} tags, not {len(tags)}", value)
    return tags


def _run_at(name: str, value: Any) -> datetime | timedelta:
    if isinstance(value, timedelta):
        if not timedelta(0) <= value <= CENTURY:
            raise _wrong(name, "a timedelta from 0 to a hundred years", value)
        return value
    if not isinstance(value, datetime):
        raise _wrong(name, "a datetime with a time zone, or a timedelta from now", value)
    if value.utcoffset() is None:
        raise _wrong(name, "a datetime with a time zone, as in datetime.now(UTC); a naive one has no moment", value)
    if value.year not in YEARS:
        raise _wrong(name, f"a year from {YEARS[0]} to {YEARS[-1]}", value)
    return value


def _seconds(name: str, value: Any) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        raise _wrong(name, "seconds, or a timedelta", value)
    if not 0 < seconds <= CENTURY.total_seconds():
        raise _wrong(name, "more than 0 seconds and at most a hundred years", value)
    return float(seconds)


def _job_id(name: str, value: Any) -> int:
    found = getattr(value, "id", value)
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise _wrong(name, "a job's id or handle", value)
    return found


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "priority": _int(-1000, 1000),
    "run_at": _run_at,
    "idempotency_key": _text(200),
    "owner": _text(200),
    "tags": _tags,
    "max_age": _seconds,
    "max_tries": _int(1, 100),
    "session": _text(200),
    "continues": _job_id,
    "from_step": _text(200),
    "connection": lambda name, value: value,
}
