"""How changes to permits, rates and budgets are shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lanework._limits.change import LimitChange
from lanework.cli import changes
from lanework.cli.changes import Setting, was_and_is
from lanework.cli.output import Column


def show_change(form: str, change: LimitChange) -> None:
    changes.show_change(form, change, _CHANGES)


def number(value: Any) -> str:
    """`500`, `0.05`, `none`."""
    if value is None:
        return "none"
    try:
        return f"{float(value):g}" if abs(float(value)) < 1e6 else f"{float(value):.0f}"
    except (TypeError, ValueError):
        return str(value)


_CHANGES: list[Column[Setting]] = [
    Column("NAME", lambda it: it.name, flexible=True),
    Column("SETTING", lambda it: it.field),
    *was_and_is(number),
]


def moment(value: datetime | None) -> str:
    return "" if value is None else value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
