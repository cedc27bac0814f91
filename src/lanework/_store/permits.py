"""Permits as rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from lanework._store.verb import Row, Verb, nothing, pair, rows, scalar, verb


class Taken(NamedTuple):
    """The answer to one call of a process: per ask its fences (as many for each hold), and the names that others wait for."""

    granted: dict[int, tuple[int, list[int]]]
    awaited: frozenset[str]


class Token(NamedTuple):
    token: str
    fence: int
    expires_at: datetime


def take_permits(worker: int, call: int, state: Sequence[dict[str, Any]], asks: Sequence[dict[str, Any]]) -> Verb[Taken]:
    return verb("take_permits", _taken, worker=worker, call=call, state=json.dumps(state), asks=json.dumps(asks))


def _taken(found: list[Row]) -> Taken:
    granted = {ask: (count, fences or []) for ask, count, fences, _ in found if ask >= 0}
    return Taken(granted, frozenset(name for ask, _, _, names in found if ask < 0 for name in names))


def acquire_permits(
    names: Sequence[str], capacity: int | None, ttl: float, *, holder: str, job: int | None, token: str, waiter: int | None
) -> Verb[Token | None]:
    return verb(
        "acquire_permits", lambda found: Token._make(found[0]) if found else None, names=list(names), capacity=capacity, ttl=ttl,
        holder=holder, job=job, token=token, waiter=waiter,
    )  # fmt: skip


def renew_permits(token: str, ttl: float | None) -> Verb[datetime | None]:
    return verb("renew_permits", scalar, token=token, ttl=ttl)


def release_permits(token: str) -> Verb[bool]:
    return verb("release_permits", scalar, token=token)


def revoke_permit(token: str, by: str) -> Verb[bool]:
    return verb("revoke_permit", scalar, token=token, by=by)


def ensure_permits(names: Sequence[str], capacities: Sequence[int | None]) -> Verb[None]:
    return verb("ensure_permits", nothing, names=list(names), capacities=list(capacities))


def set_permit(name: str, capacity: int, by: str) -> Verb[tuple[Any, Any]]:
    return verb("set_permit", pair, name=name, capacity=capacity, by=by)


def list_permits(name: str | None, decode_row: Callable[[Row], Any]) -> Verb[list[Any]]:
    return verb("list_permits", lambda found: [decode_row(row) for row in found], name=name)


def permit_holders(name: str) -> Verb[list[Row]]:
    return verb("permit_holders", rows, name=name)


def permit_waiters(name: str) -> Verb[list[Row]]:
    return verb("permit_waiters", rows, name=name)
