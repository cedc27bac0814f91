"""Reading jobs, their logs and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lanework._codec import decode
from lanework._store.verb import Row, Verb, rows, scalar, verb
from lanework.job import JobInfo

#: The fields of `JobInfo`, in the order of the queries.
COLUMNS = (
    "id", "type", "status", "priority", "lane", "attempt", "tries_used", "max_tries", "version", "payload", "result", "error_class",
    "error_code", "error", "owner", "tags", "parent", "created_at", "run_at", "claimed_at", "finished_at", "deadline", "worker_id",
    "partial", "session", "blocked_on", "continues", "progress", "progress_message", "cancel_requested",
)  # fmt: skip


def _info(row: Row) -> JobInfo:
    values = dict(zip(COLUMNS, row, strict=True))
    values["payload"] = decode(values["payload"])
    values["result"] = None if values["result"] is None else decode(values["result"])
    values["tags"] = tuple(values["tags"])
    values["progress_message"] = values["progress_message"] or ""
    return JobInfo(**values)


def get_job(id: int) -> Verb[JobInfo | None]:
    return verb("get_job", lambda found: _info(found[0]) if found else None, id=id)


def list_jobs(
    *, statuses: Sequence[str] | None, types: Sequence[str] | None, lanes: Sequence[str] | None, owner: str | None, tag: str | None,
    error_class: str | None, created_after: datetime | None, before: int | None, limit: int,
) -> Verb[list[JobInfo]]:  # fmt: skip
    return verb(
        "list_jobs", lambda found: [_info(row) for row in found],
        statuses=_list(statuses), types=_list(types), lanes=_list(lanes), owner=owner, tag=tag, error_class=error_class,
        created_after=created_after, before=before, limit=limit,
    )  # fmt: skip


def _list(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def is_finished(id: int) -> Verb[bool | None]:
    """None: there is no such job."""
    return verb("is_finished", scalar, id=id)


def job_logs(id: int, after: int, limit: int) -> Verb[list[Row]]:
    return verb("job_logs", rows, id=id, after=after, limit=limit)


def job_attempts(id: int) -> Verb[list[Row]]:
    return verb("job_attempts", rows, id=id)


def register(types: str, lanes: str) -> Verb[dict[str, Any]]:
    return verb("register", lambda found: {row[1]: row[0] for row in found}, types=types, lanes=lanes)
