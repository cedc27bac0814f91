"""Reading jobs, their logs and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from lanework._codec import decode
from lanework._store.verb import Row, Verb, rows, scalar, verb
from lanework.approvals import Approval, ApprovalRequest
from lanework.estimates import Actual, Estimate
from lanework.job import JobInfo

#: The fields of `JobInfo`, in the order of the queries.
COLUMNS = (
    "id", "type", "status", "priority", "lane", "attempt", "tries_used", "max_tries", "version", "payload", "result", "error_class",
    "error_code", "error", "owner", "tags", "parent", "created_at", "run_at", "claimed_at", "finished_at", "deadline", "worker_id",
    "partial", "session", "blocked_on", "continues", "progress", "progress_message", "cancel_requested", "hash",
)  # fmt: skip


def job_row(row: Row) -> JobInfo:
    values = dict(zip(COLUMNS, row[:-1], strict=True))
    if row[-1] is not None:
        values |= _about_cost(decode(row[-1]))
    values["payload"] = decode(values["payload"])
    values["result"] = None if values["result"] is None else decode(values["result"])
    values["tags"] = tuple(values["tags"])
    values["progress_message"] = values["progress_message"] or ""
    return JobInfo(**values)


def _about_cost(about: dict[str, Any]) -> dict[str, Any]:
    """Most jobs have no estimate, no approval, and have told of no cost."""
    found: dict[str, Any] = {}
    spent = about.get("spent")
    if (stored := about.get("estimate")) is not None:
        found["estimate"] = Estimate(**{item.name: stored.get(item.name) for item in fields(Estimate)})
    if (given := about.get("approval")) is not None:
        at = datetime.fromisoformat(given["at"])
        found["approval"] = Approval(given["approved_by"], at, given.get("limit_amount"), given["hash"])
    if (asked := about.get("request")) is not None:
        since, until = datetime.fromisoformat(asked["since"]), datetime.fromisoformat(asked["expires_at"])
        found["approval_request"] = ApprovalRequest(since, until, asked["why"])
    if spent is not None or about["seconds"]:
        told = spent or {"amount": 0, "currency": "USD", "tokens": 0, "items": 0}
        found["actual"] = Actual(float(told["amount"]), told["currency"], int(told["tokens"]), int(told["items"]), about["seconds"])
    return found


def get_job(id: int) -> Verb[JobInfo | None]:
    return verb("get_job", lambda found: job_row(found[0]) if found else None, id=id)


def list_jobs(
    *, statuses: Sequence[str] | None, types: Sequence[str] | None, lanes: Sequence[str] | None, owner: str | None, tag: str | None,
    error_class: str | None, created_after: datetime | None, before: int | None, limit: int,
) -> Verb[list[JobInfo]]:  # fmt: skip
    return verb(
        "list_jobs", lambda found: [job_row(row) for row in found],
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
