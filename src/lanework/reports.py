"""Rows as read: log entries, attempts, workers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class LogEntry:
    job_id: int
    attempt: int
    at: datetime
    stream: str
    text: str
    id: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that did not succeed."""

    attempt: int
    worker_id: int | None
    started_at: datetime | None
    ended_at: datetime
    outcome: str
    error_class: str | None
    error_code: str | None
    error: str | None
    traceback: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's row; `silent_for` is seconds since its last heartbeat."""

    id: int
    name: str
    host: str
    pid: int
    state: str
    started_at: datetime
    seen_at: datetime
    silent_for: float
    lanes: tuple[str, ...]
    types: tuple[str, ...]
    running: int
    leads: bool
    ended_at: datetime | None
    ended_because: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """A stored step; `blob` names the blob that has a result too large for the row."""

    key: str
    attempt: int
    result: Any
    blob: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """An item of a partial job that failed."""

    item: str
    error_class: str | None
    error_code: str | None
    error: str
    traceback: str | None
    at: datetime


def step_row(row: tuple[Any, ...]) -> Step:
    key, attempt, result, blob, at = row
    return Step(key, attempt, None if result is None else json.loads(result), blob, at)


def item_row(row: tuple[Any, ...]) -> ItemFailure:
    return ItemFailure(*row)


def log_row(row: tuple[Any, ...]) -> LogEntry:
    return LogEntry(*row)


def attempt_row(row: tuple[Any, ...]) -> Attempt:
    return Attempt(*row)


def worker_row(row: tuple[Any, ...]) -> WorkerInfo:
    fields = [*row[:8], tuple(row[8]), tuple(row[9]), *row[10:14]]
    return WorkerInfo(*fields)
