"""What is going on, read at one moment: for the status screen, and for whoever wants it as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lanework._store import status
from lanework._store.status import Overview, Queue, Running
from lanework._store.workers import unserved_types
from lanework.client import Lanework
from lanework.lanes import LaneInfo
from lanework.reports import WorkerInfo

#: More running jobs than this are counted, not listed.
MOST = 200
#: Jobs of a lane are counted up to here.
COUNTED = 10_000


@dataclass(frozen=True)
class Lane:
    name: str
    used: int
    max_slots: int | None
    worker_slots: int | None
    enabled: bool
    waiting: int
    delayed: int
    blocked: int
    oldest: float | None
    job_types: tuple[str, ...]
    brake: str = "open"


@dataclass(frozen=True)
class Snapshot:
    database: str
    version: str
    now: datetime
    leader: int | None
    leader_name: str | None
    completed_5min: int
    failed_5min: int
    counted_to: int
    lanes: list[Lane]
    running_total: int
    running: list[Running]
    workers: list[WorkerInfo]
    unserved: list[str]


def take(app: Lanework) -> Snapshot:
    seen: Overview = app._run(status.overview())
    queues = {one.lane: one for one in app._run(status.queues(COUNTED))}
    return Snapshot(
        database=seen.database, version=seen.version, now=seen.now, leader=seen.leader, leader_name=seen.leader_name,
        completed_5min=seen.completed, failed_5min=seen.failed, counted_to=COUNTED,
        lanes=[_lane(one, queues.get(one.name)) for one in app.lanes.list()],
        running_total=sum(one.running for one in queues.values()), running=app._run(status.running(MOST)), workers=app.workers(),
        unserved=[kind for kind, _ in app._run(unserved_types())],
    )  # fmt: skip


def _lane(row: LaneInfo, queue: Queue | None) -> Lane:
    return Lane(
        name=row.name, used=row.running, max_slots=row.max_slots, worker_slots=row.worker_slots,
        enabled=row.enabled and not row.held_by,
        waiting=queue.waiting if queue else 0, delayed=queue.delayed if queue else 0, blocked=queue.blocked if queue else 0,
        oldest=queue.oldest if queue else None, job_types=row.job_types, brake=queue.brake if queue else "open",
    )  # fmt: skip
