"""Budgets and reservations as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from lanework._store.verb import Row, Verb, pair, rows, scalar, verb


class Refusal(NamedTuple):
    budget: str
    left: Decimal


def reserve(
    id: str, amount: Decimal, *, what: str, names: Sequence[str], job: int | None, attempt: int | None, owner: str | None,
    worker: int | None,
) -> Verb[Refusal | None]:  # fmt: skip
    return verb(
        "reserve", lambda found: Refusal._make(found[0]) if found else None, id=id, amount=amount, what=what, names=list(names),
        job=job, attempt=attempt, owner=owner, worker=worker,
    )  # fmt: skip


def settle_reservation(id: str, actual: Decimal | None) -> Verb[str]:
    return verb("settle_reservation", scalar, id=id, actual=actual)


def release_reservation(id: str) -> Verb[str]:
    return verb("release_reservation", scalar, id=id)


def set_budget(name: str, amount: Decimal, per: str | None, by: str) -> Verb[tuple[Any, Any]]:
    return verb("set_budget", pair, name=name, amount=amount, per=per, by=by)


def remove_budget(name: str, by: str) -> Verb[bool]:
    return verb("remove_budget", scalar, name=name, by=by)


def list_budgets(name: str | None, decode_row: Callable[[Row], Any]) -> Verb[list[Any]]:
    return verb("list_budgets", lambda found: [decode_row(row) for row in found], name=name)


def list_reservations(*, job: int | None, budget: str | None, limit: int) -> Verb[list[Row]]:
    return verb("list_reservations", rows, job=job, budget=budget, limit=limit)
