"""Calls of models as rows; and budgets for calls that no job makes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from kg._store.verb import Verb, nothing, verb
from lanework._store.budgets import Refusal, release_reservation, reserve, settle_reservation

__all__ = ["CallRow", "Refusal", "release", "remove_calls", "reserve_outside", "settle", "settle_lost_calls", "write_calls"]


class CallRow(NamedTuple):
    call: str
    job: int | None
    owner: str | None
    provider: str
    model: str
    purpose: str
    tokens_in: int
    tokens_out: int
    cost: float
    seconds: float
    outcome: str


def write_calls(rows: Sequence[CallRow]) -> Verb[None]:
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = (
        "calls",
        "jobs",
        "owners",
        "providers",
        "models",
        "purposes",
        "tokens_in",
        "tokens_out",
        "costs",
        "seconds",
        "outcomes",
    )
    return verb("write_calls", nothing, **dict(zip(names, columns, strict=True)))


def remove_calls(days: float) -> Verb[int]:
    return verb("remove_calls", lambda found: int(found[0][0]), days=days)


def reserve_outside(id: str, amount: Decimal, what: str, owner: str | None) -> Verb[Refusal | None]:
    return reserve(id, amount, what=what, names=[], job=None, attempt=None, owner=owner, worker=None)


def settle(id: str, actual: Decimal | None) -> Verb[str]:
    return settle_reservation(id, actual)


def release(id: str) -> Verb[str]:
    return release_reservation(id)


def settle_lost_calls(seconds: float) -> Verb[int]:
    """Those that were reserved so long ago, and by no job."""
    return verb("settle_lost_calls", lambda found: int(found[0][0]), seconds=seconds)
