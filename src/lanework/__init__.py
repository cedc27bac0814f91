"""Lanework: a durable job engine with worker lanes on PostgreSQL."""

from typing import TYPE_CHECKING, Any

from lanework._pools.base import Call, Executor
from lanework.client import Lanework
from lanework.context import Context
from lanework.errors import (
    ClaimLost,
    ConfigError,
    DatabaseUnavailable,
    IdempotencyConflict,
    InvalidJob,
    InvalidLane,
    JobCancelled,
    JobFailed,
    JobNotFinished,
    JobNotFound,
    LaneworkError,
    UnknownJobType,
)
from lanework.job import Handle, Job, JobInfo
from lanework.outcomes import Cancel, Done, Fail, ItemError, Partial, Snooze, Wait
from lanework.retries import Classifier, Retryable

if TYPE_CHECKING:
    from lanework.worker import Worker

__all__ = [
    "Call",
    "Cancel",
    "ClaimLost",
    "Classifier",
    "ConfigError",
    "Context",
    "DatabaseUnavailable",
    "Done",
    "Executor",
    "Fail",
    "Handle",
    "IdempotencyConflict",
    "InvalidJob",
    "InvalidLane",
    "ItemError",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobInfo",
    "JobNotFinished",
    "JobNotFound",
    "Lanework",
    "LaneworkError",
    "Partial",
    "Retryable",
    "Snooze",
    "UnknownJobType",
    "Wait",
    "Worker",
]


def __getattr__(name: str) -> Any:
    if name == "Worker":  # loaded when somebody works: submitting needs none of it
        from lanework.worker import Worker  # noqa: PLC0415

        return Worker
    raise AttributeError(f"module 'lanework' has no attribute {name!r}")
