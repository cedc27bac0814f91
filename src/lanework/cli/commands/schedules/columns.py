"""How schedules, their ticks and changes to them are shown."""

from __future__ import annotations

from datetime import datetime

from lanework.cli import changes
from lanework.cli.changes import Setting, was_and_is
from lanework.cli.commands.jobs.columns import moment
from lanework.cli.output import Column
from lanework.cli.text import STATUS_COLOURS
from lanework.schedules import ScheduleChange, ScheduleInfo, Tick

_COLOURS = {**STATUS_COLOURS, "missed": "yellow", "skipped": "dim", "error": "red", "asking": "cyan", "submitted": "blue"}


def state(it: ScheduleInfo) -> str:
    if it.enabled:
        return f"{it.errors} errors" if it.errors else "on"
    return "DISABLED" if it.errors >= 5 else "paused"


def _state_colour(it: ScheduleInfo) -> str:
    return {"on": "", "paused": "yellow"}.get(state(it), "red")


def _reason(it: Tick) -> str:
    if it.until is None:
        return it.reason
    number = "many" if it.count is None else f"{it.count:,}"
    return f"{number} up to {moment(it.until)}: {it.reason}"


SCHEDULES: list[Column[ScheduleInfo]] = [
    Column("NAME", lambda it: it.name, flexible=True),
    Column("WHEN", lambda it: it.when, flexible=True),
    Column("TYPE", lambda it: it.type, flexible=True),
    Column("NEXT", lambda it: moment(it.next_at) if it.enabled else ""),
    Column("STATE", state, colour=_state_colour),
    Column("OVERLAP", lambda it: it.overlap),
    Column("MISFIRE", lambda it: it.misfire),
    Column("SET BY", lambda it: it.changed_by or it.set_by, flexible=True),
    Column("", lambda it: it.disabled_because or "", flexible=True),
]
TICKS: list[Column[Tick]] = [
    Column("TICK", lambda it: moment(it.tick)),
    Column("OUTCOME", lambda it: it.outcome, colour=lambda it: _COLOURS.get(it.outcome, "")),
    Column("JOB", lambda it: it.job_id or it.condition_job_id, right=True),
    Column("BY", lambda it: it.asked_by or "", flexible=True),
    Column("REASON", _reason, flexible=True),
]
TIMES: list[Column[datetime]] = [
    Column("LOCAL", lambda it: it.isoformat(sep=" ")),
    Column("HERE", moment),
]
_CHANGES: list[Column[Setting]] = [Column("VALUE", lambda it: it.field), *was_and_is()]


def show_change(form: str, change: ScheduleChange) -> None:
    changes.show_change(form, change, _CHANGES, noun="schedule")
