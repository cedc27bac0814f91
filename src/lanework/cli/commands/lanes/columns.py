"""How lanes and changes to them are shown."""

from __future__ import annotations

from typing import Any

from lanework.cli.output import Column, say, show
from lanework.lanes import LaneChange, LaneInfo


def limit(value: int | None) -> str:
    return "∞" if value is None else str(value)


def state(lane: LaneInfo) -> str:
    state = "drained" if not lane.enabled else "held" if lane.held_by else "open"
    return f"{state}, fair" if lane.fair else state


LANES: list[Column[LaneInfo]] = [
    Column("LANE", lambda it: it.name, flexible=True),
    Column("SLOTS", lambda it: f"{it.running}/{limit(it.max_slots)}", right=True),
    Column("PER WORKER", lambda it: limit(it.worker_slots), right=True),
    Column("POLL", lambda it: f"{it.poll_interval_ms} ms", right=True),
    Column("STALE", lambda it: f"{it.stale_timeout_minutes} min", right=True),
    Column("STATE", state, colour=lambda it: "" if state(it).startswith("open") else "yellow"),
    Column("SET BY", lambda it: it.set_by, flexible=True),
    Column("TYPES", lambda it: ", ".join(it.job_types), flexible=True),
]
_CHANGES: list[Column[tuple[str, tuple[Any, Any]]]] = [
    Column("LANE", lambda it: it[0].partition(" ")[0]),
    Column("SETTING", lambda it: it[0].partition(" ")[2]),
    Column("WAS", lambda it: _value(it[1][0]), flexible=True),
    Column("IS", lambda it: _value(it[1][1]), flexible=True),
]


def show_change(form: str, change: LaneChange) -> None:
    rows = [(f"{change.name} {field}", pair) for field, pair in change.changed.items()]
    if form == "table":
        show(form, rows, _CHANGES)
    else:
        changed = {field: {"was": was, "is": now} for field, (was, now) in change.changed.items()}
        show(form, [change], [], id_of=lambda it: it.name, record=lambda it: {"lane": it.name, "changed": changed})
    if not rows:
        say(f"lane {change.name}: nothing changed, it was so already")


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
