"""What operators do: acts on one job or many, and the log of all acts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lanework._store.verb import Row, Verb, rows, scalar, verb


def cancel(id: int, by: str, reason: str, *, children: bool) -> Verb[str | None]:
    return verb("cancel", scalar, id=id, by=by, reason=reason, children=children)


def set_priority(id: int, priority: int, by: str) -> Verb[int]:
    return verb("set_priority", scalar, id=id, priority=priority, by=by)


def start_operation(kind: str, filter: Mapping[str, Any], args: Mapping[str, Any], by: str, reason: str) -> Verb[int]:
    return verb(
        "start_operation", scalar, kind=kind, filter=json.dumps(filter), args=json.dumps(args), by=by, reason=reason
    )  # fmt: skip


def stop_operation(id: int, by: str) -> Verb[str]:
    return verb("stop_operation", scalar, id=id, by=by)


def carry_operations(id: int) -> Verb[bool]:
    """The next commit of one act; answers whether more is left."""
    return verb("carry_operations", scalar, id=id)


def count_matching(kind: str, filter: Mapping[str, Any]) -> Verb[int]:
    return verb("count_matching", scalar, kind=kind, filter=json.dumps(filter))


def list_operations(
    *, id: int | None = None, state: str | None = None, by: str | None = None, before: int | None = None, limit: int = 100
) -> Verb[list[Row]]:
    return verb("list_operations", rows, id=id, state=state, by=by, before=before, limit=limit)


def list_audit(
    *, actor: str | None, act: str | None, target: str | None, since: datetime | None, before: int | None, limit: int
) -> Verb[list[Row]]:
    return verb("list_audit", rows, actor=actor, act=act, target=target, since=since, before=before, limit=limit)


def verify_audit() -> Verb[Row]:
    """(sealed, unsealed, the first bad row or None, head)."""
    return verb("verify_audit", lambda found: found[0])
