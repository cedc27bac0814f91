"""Dead letters: groups, redrives, the archive, rules, and messages about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from lanework._codec import decode
from lanework._store.reads import job_row
from lanework._store.verb import Row, Verb, nothing, scalar, verb
from lanework.job import JobInfo

T = TypeVar("T")
Filter = Mapping[str, Any]


def retry(id: int, by: str, max_age: float | None) -> Verb[str]:
    return verb("retry", scalar, id=id, by=by, max_age=max_age)


def dead_groups(
    *, fingerprint: str | None, types: Sequence[str] | None, error_class: str | None, limit: int, make: Callable[[Row], T]
) -> Verb[list[T]]:
    chosen = None if types is None else list(types)
    return verb("dead_groups", _each(make), fingerprint=fingerprint, types=chosen, error_class=error_class, limit=limit)


def dead_jobs(chosen: Filter, after: int | None, limit: int) -> Verb[list[JobInfo]]:
    return verb("dead_jobs", _each(job_row), filter=json.dumps(chosen), after=after, limit=limit)


def dead_count(chosen: Filter) -> Verb[int]:
    return verb("dead_count", scalar, filter=json.dumps(chosen))


def start_redrive(chosen: Filter, *, canary: bool, per_minute: int | None, by: str) -> Verb[int]:
    return verb("start_redrive", scalar, filter=json.dumps(chosen), canary=canary, per_minute=per_minute, by=by)


def stop_redrive(id: int, by: str, reason: str) -> Verb[None]:
    return verb("stop_redrive", nothing, id=id, by=by, reason=reason)


def list_redrives(*, id: int | None, active: bool, limit: int, counts: bool, make: Callable[[Row], T]) -> Verb[list[T]]:
    def row(found: Row) -> T:
        return make((*found[:2], decode(found[2]), *found[3:]))

    return verb("list_redrives", _each(row), id=id, active=active, limit=limit, counts=counts)


def archive_dead(chosen: Filter, by: str, reason: str) -> Verb[int]:
    return verb("archive_dead", scalar, filter=json.dumps(chosen), by=by, reason=reason)


def set_error_rule(*, group: str | None, type: str | None, pattern: str | None, error_class: str, by: str) -> Verb[int]:
    return verb("set_error_rule", scalar, group=group, type=type, pattern=pattern, error_class=error_class, by=by)


def remove_error_rule(id: int, by: str) -> Verb[None]:
    return verb("remove_error_rule", nothing, id=id, by=by)


def list_error_rules(make: Callable[[Row], T]) -> Verb[list[T]]:
    return verb("list_error_rules", _each(make))


# -- messages ------------------------------------------------------------------------------------------------------------------


class Taken(NamedTuple):
    """A message that is ours to send now."""

    id: UUID
    name: str
    kind: str
    url: str | None
    secret: str | None
    size: int
    groups: list[dict[str, Any]]
    tries: int
    created_at: datetime
    now: datetime


def register_notifiers(rows: Sequence[Mapping[str, Any]]) -> Verb[None]:
    return verb("register_notifiers", nothing, notifiers=json.dumps(rows))


def set_notifier(
    name: str, *, url: str | None, secret: str | None, enabled: bool | None, every: int | None, by: str
) -> Verb[None]:  # fmt: skip
    return verb("set_notifier", nothing, name=name, url=url, secret=secret, enabled=enabled, every=every, by=by)


def remove_notifier(name: str, by: str) -> Verb[None]:
    return verb("remove_notifier", nothing, name=name, by=by)


def list_notifiers(make: Callable[[Row], T]) -> Verb[list[T]]:
    return verb("list_notifiers", _each(make))


def list_notifications(state: str | None, limit: int, make: Callable[[Row], T]) -> Verb[list[T]]:
    def row(found: Row) -> T:
        return make((*found[:4], decode(found[4]), *found[5:]))

    return verb("list_notifications", _each(row), state=state, limit=limit)


def take_notification(notifier: int) -> Verb[Taken | None]:
    def one(found: list[Row]) -> Taken | None:
        return Taken._make((*found[0][:6], decode(found[0][6]), *found[0][7:])) if found else None

    return verb("take_notification", one, notifier=notifier)


def end_notification(id: UUID, error: str | None) -> Verb[str | None]:
    return verb("end_notification", scalar, id=id, error=error)


def _each(make: Callable[[Row], T]) -> Callable[[list[Row]], list[T]]:
    return lambda found: [make(row) for row in found]
