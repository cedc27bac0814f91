"""How jobs are shown in a table."""

from __future__ import annotations

from datetime import UTC, datetime

from lanework._words import age
from lanework.cli.output import Column
from lanework.cli.text import STATUS_COLOURS, bar
from lanework.job import JobInfo


def moment(at: datetime | None) -> str:
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def state(job: JobInfo) -> str:
    return "stopping" if job.status == "running" and job.cancel_requested else job.status


def cost(job: JobInfo) -> str:
    """What it would cost by its estimate, or has cost."""
    estimate = job.estimate
    if job.status in ("completed", "failed") and job.actual is not None and job.actual.cost:
        return f"{job.actual.cost:,.2f} {job.actual.currency}"
    if estimate is None:
        return ""
    if estimate.high is None:
        return "not known"
    low = f"{estimate.low:,.2f}–" if estimate.low not in (None, estimate.high) else ""
    return f"{low}{estimate.high:,.2f} {estimate.currency}"


def note(job: JobInfo) -> str:
    """The one thing worth knowing about a job in its state."""
    if job.status == "running":
        return f"{bar(job.progress, 8)} {job.progress_message}".strip()
    if job.status == "scheduled" and job.run_at is not None:
        return f"due {moment(job.run_at)}"
    if job.approval_request is not None:
        return "; ".join(filter(None, (cost(job), job.approval_request.why)))
    if job.status == "pending":
        return "its cost is being estimated"
    if job.status == "failed":
        return f"{job.error_class}: {job.error}"
    return job.error or ""


def took(job: JobInfo) -> str:
    """From its last claim to its end, or to now."""
    if job.claimed_at is None or job.status not in ("running", "completed", "failed", "cancelled"):
        return ""
    return age(((job.finished_at or datetime.now(UTC)) - job.claimed_at).total_seconds())


JOBS: list[Column[JobInfo]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("TYPE", lambda it: it.type, flexible=True),
    Column("LANE", lambda it: it.lane, flexible=True),
    Column("STATUS", state, colour=lambda it: STATUS_COLOURS.get(it.status, "")),
    Column("TRIES", lambda it: f"{it.tries_used}/{it.max_tries}", right=True),
    Column("SUBMITTED", lambda it: moment(it.created_at)),
    Column("TOOK", took, right=True),
    Column("NOTE", note, flexible=True),
]
