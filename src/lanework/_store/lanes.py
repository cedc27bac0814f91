"""Lanes as rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lanework._store.verb import Row, Verb, nothing, pair, verb


def list_lanes(name: str | None, decode_row: Callable[[Row], Any]) -> Verb[list[Any]]:
    return verb("list_lanes", lambda found: [decode_row(row) for row in found], name=name)


def set_lane(name: str, changes: dict[str, Any], *, by: str, create: bool) -> Verb[tuple[Any, Any]]:
    return verb("set_lane", pair, name=name, changes=json.dumps(changes), by=by, create=create)


def remove_lane(name: str, move_to: str | None, *, by: str) -> Verb[None]:
    return verb("remove_lane", nothing, name=name, move_to=move_to, by=by)
