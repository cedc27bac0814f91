"""The cluster at one moment: each lane's slots and who holds them, what waits there, and the totals."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from lanework._store.overview import queue_depth, slot_holders
from lanework._store.verb import Row
from lanework.lanes import LaneInfo

if TYPE_CHECKING:
    from lanework.client import Lanework

#: A queue is counted up to here; `waiting` then means "at least".
MOST_COUNTED = 10_000
MOST_HOLDERS = 1000


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot that is taken, and by which job."""

    job_id: int
    type: str
    owner: str | None
    attempt: int
    worker_id: int | None
    claimed_by: str | None
    claimed_at: datetime
    last_progress_at: datetime | None
    progress: float | None
    message: str
    cancel_requested: bool


@dataclass(frozen=True, slots=True)
class Depth:
    """Claimable jobs of one type, counted up to 10,000; `oldest` is when the first of them was submitted."""

    type: str
    waiting: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class LaneStatus:
    name: str
    enabled: bool
    max_slots: int | None
    worker_slots: int | None
    used: int
    slots: list[Slot] = field(default_factory=list)
    queue: list[Depth] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Totals:
    lanes: int
    slots: int | None
    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Overview:
    lanes: list[LaneStatus]
    totals: Totals


async def look(app: Lanework) -> Overview:
    """Three statements on small tables, whatever is queued."""
    lanes = await app.lanes.alist()
    holders = await app._arun(slot_holders(MOST_HOLDERS))
    depths = await app._arun(queue_depth(MOST_COUNTED))
    return _joined(lanes, holders, depths)


def _joined(lanes: list[LaneInfo], holders: list[Row], depths: list[Row]) -> Overview:
    slots: dict[str, list[Slot]] = defaultdict(list)
    for lane, *rest in holders:
        slots[lane].append(Slot(*rest))
    queues: dict[str, list[Depth]] = defaultdict(list)
    for lane, *rest in depths:
        queues[lane].append(Depth(*rest))
    found = [_lane(one, slots[one.name], queues[one.name]) for one in lanes]
    limits = [one.max_slots for one in found]
    return Overview(
        found,
        Totals(
            lanes=len(found),
            slots=None if None in limits else sum(limit for limit in limits if limit is not None),
            running=sum(one.used for one in found),
            waiting=sum(depth.waiting for one in found for depth in one.queue),
        ),
    )


def _lane(lane: LaneInfo, slots: list[Slot], queue: list[Depth]) -> LaneStatus:
    # bodies that are fenced but have not ended still hold their slot
    used = max(lane.running, len(slots))
    return LaneStatus(lane.name, lane.enabled, lane.max_slots, lane.worker_slots, used, slots, queue)
