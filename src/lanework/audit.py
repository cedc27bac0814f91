"""The audit log: what operators did, one row per act, written in the act's own transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lanework._store.operations import list_audit, verify_audit
from lanework._store.verb import Row, Verb
from lanework.errors import InvalidFilter


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`act` is noun.verb (`job.cancel`), `target` names the thing (`job:17`), `origin` is where the act came from."""

    id: int
    at: datetime
    actor: str
    act: str
    target: str
    before: Any
    after: Any
    origin: str


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """What the chain of seals says. `bad` is the first audit row that was changed, taken out or put in; `unsealed` the newest rows,
    which no seal covers yet; `head` the last seal: kept elsewhere, it also shows if the end of the log was cut off."""

    sealed: int
    unsealed: int
    bad: int | None
    head: str

    @property
    def ok(self) -> bool:
        return self.bad is None


def listing(
    *, actor: str | None = None, act: str | None = None, target: str | None = None, since: datetime | None = None,
    before: int | None = None, limit: int = 100,
) -> Verb[list[Row]]:  # fmt: skip
    if not 1 <= limit <= 1000:
        raise InvalidFilter(f"limit: expected 1 to 1000, got {limit!r}", field="limit")
    return list_audit(actor=actor, act=act, target=target, since=since, before=before, limit=limit)


def verifying() -> Verb[Row]:
    return verify_audit()


def check_row(row: Row) -> AuditCheck:
    return AuditCheck(*row)


def audit_row(row: Row) -> AuditEntry:
    id, at, actor, act, target, before, after, origin = row
    return AuditEntry(id, at, actor, act, target, _value(before), _value(after), origin)


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)
