"""What an operator's change of a limit did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LimitChange:
    """What a change did: the fields that differ, old and new."""

    name: str
    changed: Mapping[str, tuple[Any, Any]]


def change(name: str, rows: tuple[Any, Any]) -> LimitChange:
    before, after = rows
    hidden = ("updated_at", "set_by", "name")
    fields = {key: ((before or {}).get(key), value) for key, value in after.items() if key not in hidden}
    return LimitChange(name, {key: pair for key, pair in fields.items() if pair[0] != pair[1]})
