"""The status screen: what matters first, cut to the lines and columns there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lanework._store.status import Running
from lanework._words import age, count
from lanework.cli.output import Column, table
from lanework.cli.snapshot import COUNTED, Lane, Snapshot
from lanework.cli.text import STATUS_COLOURS, bar, clip, paint, safe, width
from lanework.reports import WorkerInfo

T = TypeVar("T")
#: What holds a lane, in a word; `lanework lanes explain` says more.
BRAKES = {
    "no_worker": "no worker", "unserved": "no worker", "workers_full": "workers full", "type_full": "types full",
    "frozen": "frozen", "all_drained": "drained",
}  # fmt: skip


def number(count: int) -> str:
    return f"{count:,}" if count < COUNTED else f"{COUNTED:,}+"


def lane_state(lane: Lane) -> str:
    if not lane.enabled:
        return "drained"
    if lane.max_slots == 0 or lane.worker_slots == 0:
        return "no slots"
    if lane.max_slots is not None and lane.used >= lane.max_slots:
        return "full"
    return BRAKES.get(lane.brake, "open")


LANES: list[Column[Lane]] = [
    Column("LANE", lambda it: it.name, flexible=True),
    Column("SLOTS", lambda it: f"{it.used}/{'∞' if it.max_slots is None else it.max_slots}", right=True),
    Column("WAITING", lambda it: number(it.waiting), right=True),
    Column("OLDEST", lambda it: age(it.oldest), right=True),
    Column("DELAYED", lambda it: number(it.delayed), right=True),
    Column("BLOCKED", lambda it: number(it.blocked), right=True),
    Column("STATE", lane_state, flexible=True, colour=lambda it: STATUS_COLOURS.get(lane_state(it), "")),
]
RUNNING: list[Column[Running]] = [
    Column("JOB", lambda it: it.id, right=True),
    Column("TYPE", lambda it: it.type, flexible=True),
    Column("LANE", lambda it: it.lane, flexible=True),
    Column("AGE", lambda it: age(it.age), right=True),
    Column("TRY", lambda it: it.attempt, right=True),
    Column("PROGRESS", lambda it: bar(it.fraction), colour=lambda _: "cyan"),
    Column("", lambda it: f"stopping ({it.stop})" if it.stop else it.message, flexible=True),
]
WORKERS: list[Column[WorkerInfo]] = [
    Column("WORKER", lambda it: it.id, right=True),
    Column("NAME", lambda it: it.name, flexible=True),
    Column("STATE", lambda it: it.state, colour=lambda it: STATUS_COLOURS.get(it.state, "")),
    Column("JOBS", lambda it: it.running, right=True),
    Column("SEEN", lambda it: f"{age(it.silent_for)} ago", right=True),
    Column("LANES", lambda it: ",".join(it.lanes) or "all", flexible=True),
]


@dataclass(frozen=True)
class Part(Generic[T]):
    """A table of the screen: its rows, how many there are in all, and what is said when there are none."""

    rows: Sequence[T]
    columns: Sequence[Column[T]]
    total: int
    none: str

    def lines(self, room: int, width: int) -> list[str]:
        if not self.rows:
            return [self.none]
        shown = self.rows[:room] if room else self.rows
        left = self.total - len(shown)
        return [*table(shown, self.columns, most=width), *([f"  … and {left:,} more"] if left > 0 else [])]


def render(seen: Snapshot, columns: int = 80, lines: int = 0) -> list[str]:
    """`lines`: of the screen; 0: as many as it takes."""
    drawn = [_head(seen, columns), *_alarms(seen, columns)]
    parts: list[Part[Any]] = [
        Part(seen.lanes, LANES, len(seen.lanes), "no lanes"),
        Part(seen.running, RUNNING, seen.running_total, "nothing runs"),
        Part(seen.workers, WORKERS, len(seen.workers), "no worker: start one with `lanework worker module:app`"),
    ]
    rooms = _rooms([len(part.rows) for part in parts], lines - len(drawn) - 2 * len(parts) if lines else 0)
    for part, room in zip(parts, rooms, strict=True):
        drawn += ["", *part.lines(room, columns)]
    return drawn[:lines] if lines else drawn


def _head(seen: Snapshot, columns: int) -> str:
    left = f"lanework · {safe(seen.database)} · {seen.now.astimezone():%H:%M:%S}"
    leader = f"worker {seen.leader} leads" if seen.leader is not None else "nobody leads"
    right = f"in 5 min {seen.completed_5min:,} done, {seen.failed_5min:,} failed · {leader}"
    if width(left) + width(right) + 2 > columns:
        right = leader
    return paint(clip(f"{left}{' ' * max(columns - width(left) - width(right), 2)}{right}", columns), "bold")


def _alarms(seen: Snapshot, columns: int) -> list[str]:
    found = []
    if seen.unserved:
        found.append(f"! no worker serves {', '.join(map(safe, seen.unserved))}: their jobs wait")
    if silent := [one for one in seen.workers if one.silent_for > 10]:
        found.append(f"! {count(len(silent), 'worker')} silent: {', '.join(safe(one.name) for one in silent)}")
    return [paint(clip(text, columns), "red") for text in found]


def _rooms(wanted: list[int], lines: int) -> list[int]:
    """Rows for each part: all it wants, or a fair share of what there is. Zero room at all: everything is shown."""
    if lines <= 0 or sum(max(one, 1) for one in wanted) <= lines:
        return [0] * len(wanted)
    rooms = [1] * len(wanted)
    left = lines - sum(rooms) - len(wanted)  # a line for each "and more"
    while left > 0 and any(room < want for room, want in zip(rooms, wanted, strict=True)):
        for n, want in enumerate(wanted):
            if rooms[n] < want and left > 0:
                rooms[n] += 1
                left -= 1
    return rooms
