"""Rates as rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from lanework._store.verb import Row, Verb, nothing, pair, scalar, verb


class Slice(NamedTuple):
    """What a process may use now; with nothing in it, how long to wait."""

    requests: float
    tokens: float
    wait_s: float


def ensure_rate(name: str, requests: float | None, tokens: float | None, window: float | None) -> Verb[None]:
    return verb("ensure_rate", nothing, name=name, requests=requests, tokens=tokens, window=window)


def take_rate(name: str, *, requests: float, tokens: float, want_requests: float, want_tokens: float) -> Verb[Slice]:
    return verb(
        "take_rate", lambda found: Slice._make(found[0]), name=name, requests=requests, tokens=tokens,
        want_requests=want_requests, want_tokens=want_tokens,
    )  # fmt: skip


def pause_rate(name: str, seconds: float, by: str | None) -> Verb[datetime]:
    return verb("pause_rate", scalar, name=name, seconds=seconds, by=by)


def resume_rate(name: str, by: str) -> Verb[bool]:
    return verb("resume_rate", scalar, name=name, by=by)


def set_rate(name: str, changes: dict[str, Any], by: str) -> Verb[tuple[Any, Any]]:
    return verb("set_rate", pair, name=name, changes=json.dumps(changes), by=by)


def list_rates(name: str | None, decode_row: Callable[[Row], Any]) -> Verb[list[Any]]:
    return verb("list_rates", lambda found: [decode_row(row) for row in found], name=name)
