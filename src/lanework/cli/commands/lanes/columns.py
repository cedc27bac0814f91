"""How lanes and changes to them are shown."""

from __future__ import annotations

from lanework.cli import changes
from lanework.cli.changes import Setting, was_and_is
from lanework.cli.output import Column
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
_CHANGES: list[Column[Setting]] = [
    Column("LANE", lambda it: it.name),
    Column("SETTING", lambda it: it.field),
    *was_and_is(),
]


def show_change(form: str, change: LaneChange) -> None:
    changes.show_change(form, change, _CHANGES, noun="lane")
