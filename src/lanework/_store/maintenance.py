"""Maintenance tasks as rows, and their runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from lanework._store.verb import Row, Verb, nothing, rows, scalar, verb


class DueTask(NamedTuple):
    """A task whose time has come. `now` is the database's."""

    name: str
    kind: str
    cron: str | None
    every_s: float | None
    tz: str
    timeout_s: float
    now: datetime


def list_tasks(name: str | None) -> Verb[list[Row]]:
    return verb("list_tasks", rows, name=name)


def task_runs(name: str | None, limit: int) -> Verb[list[Row]]:
    return verb("task_runs", rows, name=name, limit=limit)


def enable_task(name: str, enabled: bool, by: str) -> Verb[None]:
    return verb("enable_task", nothing, name=name, enabled=enabled, by=by)


def ask_task(name: str, by: str) -> Verb[None]:
    return verb("ask_task", nothing, name=name, by=by)


def remove_task(name: str, by: str) -> Verb[None]:
    return verb("remove_task", nothing, name=name, by=by)


def register_tasks(tasks: Sequence[dict[str, Any]]) -> Verb[None]:
    return verb("register_tasks", nothing, tasks=json.dumps(list(tasks)))


def due_tasks() -> Verb[list[DueTask]]:
    return verb("due_tasks", lambda found: [DueTask._make(row) for row in found])


def begin_task(name: str, worker: int, next: datetime) -> Verb[int | None]:
    """The fence of the run, or None if somebody else has it."""
    return verb("begin_task", scalar, name=name, worker=worker, next=next)


def end_task(name: str, fence: int, outcome: str, error: str, counts: Mapping[str, Any]) -> Verb[bool]:
    return verb("end_task", scalar, name=name, fence=fence, outcome=outcome, error=error, counts=json.dumps(dict(counts)))


def run_task(name: str) -> Verb[dict[str, int]]:
    """One piece of the work; how much of what it did."""
    return verb("run_task", lambda found: {row[0]: row[1] for row in found if row[1]}, name=name)


def bloated_indexes() -> Verb[list[Row]]:
    """(name, bytes, the command that helps)."""
    return verb("bloated_indexes", rows)


def statement(text: str) -> Verb[None]:
    """A command that the database has written itself."""
    return Verb(text.encode(), {}, nothing)
