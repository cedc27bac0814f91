"""Rows as read: log entries, attempts, workers."""

from __future__ import annotations

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


def log_row(row: tuple[Any, ...]) -> LogEntry:
    return LogEntry(*row)


def attempt_row(row: tuple[Any, ...]) -> Attempt:
    return Attempt(*row)


def worker_row(row: tuple[Any, ...]) -> WorkerInfo:
    fields = [*row[:8], tuple(row[8]), tuple(row[9]), *row[10:14]]
    return WorkerInfo(*fields)
