"""Approvals, edits, the rules about them, and what jobs have spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanework._store.verb import Row, Verb, nothing, scalar, verb


def approve(id: int, hash: str, limit: float | None, by: str) -> Verb[str | None]:
    return verb("approve", scalar, id=id, hash=hash, limit=limit, by=by)


def reject(id: int, reason: str, by: str) -> Verb[str | None]:
    return verb("reject", scalar, id=id, reason=reason, by=by)


def edit(id: int, payload: str, version: int | None, by: str) -> Verb[str | None]:
    return verb("edit", scalar, id=id, payload=payload, version=version, by=by)


def list_rules(decode_row: Callable[[Row], Any]) -> Verb[list[Any]]:
    return verb("list_approval_rules", lambda found: [decode_row(row) for row in found])


def set_rule(
    type: str, owner: str, *, policy: str, above: float | None, currency: str | None, four_eyes: bool | None, by: str
) -> Verb[None]:
    values = {"policy": policy, "above": above, "currency": currency, "four_eyes": four_eyes}
    return verb("set_approval_rule", nothing, type=type, owner=owner, by=by, **values)


def remove_rule(type: str, owner: str, by: str) -> Verb[bool]:
    return verb("remove_approval_rule", lambda found: bool(found[0][0]), type=type, owner=owner, by=by)


def spend(id: int, *, key: str, amount: float, currency: str, tokens: int, items: int) -> Verb[None]:
    return verb("spend", nothing, id=id, key=key, amount=amount, currency=currency, tokens=tokens, items=items)
