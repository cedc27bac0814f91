"""Lanework: a durable job engine with worker lanes on PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanework._pools.base import Call, Executor
    from lanework.approvals import Above
    from lanework.client import Lanework
    from lanework.context import Context
    from lanework.errors import (
        ClaimLost,
        ConfigError,
        DatabaseUnavailable,
        IdempotencyConflict,
        InvalidJob,
        InvalidLane,
        InvalidSchedule,
        JobCancelled,
        JobFailed,
        JobNotFinished,
        JobNotFound,
        LaneworkError,
        UnknownJobType,
    )
    from lanework.estimates import Estimate
    from lanework.events import Event
    from lanework.hooks import HookEvent
    from lanework.job import Handle, Job, JobInfo
    from lanework.metrics import Metric
    from lanework.notifiers import Notification, Notifier
    from lanework.outcomes import Cancel, Done, Fail, ItemError, Partial, Snooze, Wait
    from lanework.retries import Classifier, Retryable
    from lanework.worker import Worker

#: Where each public name lives. It is loaded when it is first used: a command line that prints its help, or an application that
#: only submits, does not pay for the rest.
_HOMES = {
    "_pools.base": ("Call", "Executor"),
    "approvals": ("Above",),
    "client": ("Lanework",),
    "context": ("Context",),
    "errors": (
        "ClaimLost", "ConfigError", "DatabaseUnavailable", "IdempotencyConflict", "InvalidJob", "InvalidLane", "InvalidSchedule",
        "JobCancelled",
        "JobFailed", "JobNotFinished", "JobNotFound", "LaneworkError", "UnknownJobType",
    ),
    "events": ("Event",),
    "hooks": ("HookEvent",),
    "estimates": ("Estimate",),
    "job": ("Handle", "Job", "JobInfo"),
    "metrics": ("Metric",),
    "notifiers": ("Notification", "Notifier"),
    "outcomes": ("Cancel", "Done", "Fail", "ItemError", "Partial", "Snooze", "Wait"),
    "retries": ("Classifier", "Retryable"),
    "worker": ("Worker",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Above",
    "Call",
    "Cancel",
    "ClaimLost",
    "Classifier",
    "ConfigError",
    "Context",
    "DatabaseUnavailable",
    "Done",
    "Estimate",
    "Event",
    "Executor",
    "Fail",
    "Handle",
    "HookEvent",
    "IdempotencyConflict",
    "InvalidJob",
    "InvalidLane",
    "InvalidSchedule",
    "ItemError",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobInfo",
    "JobNotFinished",
    "JobNotFound",
    "Lanework",
    "LaneworkError",
    "Metric",
    "Notification",
    "Notifier",
    "Partial",
    "Retryable",
    "Snooze",
    "UnknownJobType",
    "Wait",
    "Worker",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'lanework' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"lanework.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
