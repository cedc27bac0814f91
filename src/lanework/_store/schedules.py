"""Schedules as rows, and the ticks that they make."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from lanework._store.verb import Row, Verb, nothing, pair, rows, scalar, verb


class DueSchedule(NamedTuple):
    """A schedule whose time has come. `now` is the database's."""

    name: str
    cron: str | None
    every_s: float | None
    tz: str
    anchor: datetime
    last_tick: datetime
    revision: int
    now: datetime


def list_schedules(name: str | None, decode_row: Callable[[Row], Any]) -> Verb[list[Any]]:
    return verb("list_schedules", lambda found: [decode_row(row) for row in found], name=name)


def set_schedule(name: str, values: dict[str, Any], *, by: str, create: bool) -> Verb[tuple[Any, Any]]:
    return verb("set_schedule", pair, name=name, values=json.dumps(values), by=by, create=create)


def pause_schedule(name: str, by: str, reason: str) -> Verb[None]:
    return verb("pause_schedule", nothing, name=name, by=by, reason=reason)


def resume_schedule(name: str, by: str) -> Verb[None]:
    return verb("resume_schedule", nothing, name=name, by=by)


def remove_schedule(name: str, by: str) -> Verb[None]:
    return verb("remove_schedule", nothing, name=name, by=by)


def reset_schedule(name: str, by: str) -> Verb[None]:
    return verb("reset_schedule", nothing, name=name, by=by)


def run_schedule(name: str, by: str, *, force: bool) -> Verb[Row]:
    return verb("run_schedule", lambda found: found[0], name=name, by=by, force=force)


def schedule_history(name: str, before: datetime | None, limit: int) -> Verb[list[Row]]:
    return verb("schedule_history", rows, name=name, before=before, limit=limit)


def register_schedules(schedules: Sequence[dict[str, Any]]) -> Verb[dict[str, str]]:
    return verb("register_schedules", lambda found: {row[0]: row[1] for row in found}, schedules=json.dumps(list(schedules)))


def due_schedules(worker: int) -> Verb[tuple[float | None, bool, list[DueSchedule]]]:
    """In how many seconds the next one is due, whether jobs of some have ended unnoticed, and those that are due now."""

    def split(found: list[Row]) -> tuple[float | None, bool, list[DueSchedule]]:
        return found[0][0], found[0][1], [DueSchedule._make(row[2:]) for row in found if row[2] is not None]

    return verb("due_schedules", split, worker=worker)


def fire(
    name: str, revision: int, ticks: Sequence[datetime], *, first_missed: datetime | None, missed: int | None, next: datetime | None
) -> Verb[list[Row]]:
    return verb("fire", rows, name=name, revision=revision, ticks=list(ticks), first_missed=first_missed, missed=missed, next=next)


def schedule_broken(name: str, revision: int, error: str) -> Verb[None]:
    return verb("schedule_broken", nothing, name=name, revision=revision, error=error)


def settle_schedules() -> Verb[list[Row]]:
    """(name, because) of schedules that errors have just disabled."""
    return verb("settle_schedules", rows)


def schedule_alarms() -> Verb[list[Row]]:
    """(kind, name, what): `disabled` by errors, `overdue`, or a `task` whose last run failed."""
    return verb("schedule_alarms", rows)


def answer_condition(name: str, tick: str, job: int, *, yes: bool, arguments: str | None) -> Verb[str]:
    return verb("answer_condition", scalar, name=name, tick=tick, job=job, yes=yes, arguments=arguments)
