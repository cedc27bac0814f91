"""How changes to permits, rates and budgets are shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lanework._limits.change import LimitChange
from lanework.cli.output import Column, say, show

_CHANGES: list[Column[tuple[str, str, tuple[Any, Any]]]] = [
    Column("NAME", lambda it: it[0], flexible=True),
    Column("SETTING", lambda it: it[1]),
    Column("WAS", lambda it: number(it[2][0]), flexible=True),
    Column("IS", lambda it: number(it[2][1]), flexible=True),
]


def show_change(form: str, change: LimitChange) -> None:
    rows = [(change.name, field, pair) for field, pair in change.changed.items()]
    if form == "table":
        show(form, rows, _CHANGES)
    else:
        changed = {field: {"was": was, "is": now} for field, (was, now) in change.changed.items()}
        show(form, [change], [], id_of=lambda it: it.name, record=lambda it: {"name": it.name, "changed": changed})
    if not rows:
        say(f"{change.name}: nothing changed, it was so already")


def number(value: Any) -> str:
    """`500`, `0.05`, `none`."""
    if value is None:
        return "none"
    try:
        return f"{float(value):g}" if abs(float(value)) < 1e6 else f"{float(value):.0f}"
    except (TypeError, ValueError):
        return str(value)


def moment(value: datetime | None) -> str:
    return "" if value is None else value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
