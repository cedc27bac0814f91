"""Children of a running job: submitted once per name, joined by `Wait`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanework._codec import decode
from lanework._steps import check_name
from lanework.errors import InvalidJob

if TYPE_CHECKING:
    from lanework.job import Submitter

#: Children submitted in one statement.
BATCH = 2000


@dataclass(frozen=True, slots=True)
class ChildResult:
    """A child that has ended, as its parent finds it in `ctx.children`."""

    name: str
    id: int
    type: str
    status: str
    result: Any
    error_class: str | None
    error: str | None

    @property
    def ok(self) -> bool:
        return self.status == "completed"


@dataclass(frozen=True, slots=True)
class ChildHandle:
    """A child that was submitted. Return `Wait([…])` to go on when it has ended."""

    name: str
    id: int


def request(job: Submitter[..., Any], names: Sequence[str], payloads: Sequence[str]) -> dict[str, Any]:
    """What the worker is asked to store."""
    options = job._options
    for field in ("idempotency_key", "connection", "tags", "owner", "max_age", "continues"):
        if getattr(options, field, None):
            raise InvalidJob(f"{field}: a child takes this from its parent, or has none", field=field)
    delay = options.run_at
    if delay is not None and not hasattr(delay, "total_seconds"):
        raise InvalidJob("run_at: a child is delayed by a timedelta", field="run_at")
    return {
        "type": job.handler.name, "names": [check_name(name) for name in names], "payloads": list(payloads),
        "version": job.handler.version, "priority": options.priority, "delay": None if delay is None else delay.total_seconds(),
        "max_tries": options.max_tries, "session": options.session,
    }  # fmt: skip


def batches(job: Submitter[..., Any], name: str, items: Iterable[tuple[Any, ...] | Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    given = list(items)
    payloads = list(job.handler.bind_many(given))
    names = [f"{name}[{place}]" for place in range(len(given))]
    for start in range(0, len(given), BATCH):
        yield request(job, names[start : start + BATCH], payloads[start : start + BATCH])


def handles(rows: Iterable[Sequence[Any]]) -> list[ChildHandle]:
    return sorted((ChildHandle(row[0], row[1]) for row in rows), key=lambda child: child.id)


def results(rows: Iterable[Sequence[Any]]) -> list[ChildResult]:
    return [
        ChildResult(name, id, type, status, None if result is None else decode(result), error_class, error)
        for name, id, type, status, result, error_class, error in rows
    ]
