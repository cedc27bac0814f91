"""Workers: birth, beats, death, and what maintenance they share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from lanework._store.verb import Row, Verb, nothing, rows, verb


class LaneView(NamedTuple):
    """A lane as a worker sees it at one poll."""

    id: int
    name: str
    max_slots: int | None
    worker_slots: int | None
    poll_interval_ms: int
    enabled: bool
    types: list[int]
    concurrencies: list[int | None]
    ready: bool
    due_in: float | None


class Signal(NamedTuple):
    """What a beat answers: a stop for one job, or that this worker is retired."""

    kind: str
    job_id: int | None
    attempt: int | None
    reason: str


def start_worker(
    *, name: str, host: str, pid: int, ttl: float, lanes: Sequence[str], types: Sequence[int], info: dict[str, Any]
) -> Verb[int]:
    return verb(
        "start_worker", lambda found: int(found[0][0]), name=name, host=host, pid=pid, ttl=ttl, lanes=list(lanes),
        types=list(types), info=json.dumps(info),
    )  # fmt: skip


def look(lanes: Sequence[str] | None, types: Sequence[int]) -> Verb[list[LaneView]]:
    return verb(
        "look",
        lambda found: [LaneView._make(row) for row in found],
        lanes=None if lanes is None else list(lanes),
        types=list(types),
    )


def beat(worker: int, open_claims: Sequence[int], told: int, gap: float) -> Verb[list[Signal]]:
    return verb(
        "beat", lambda found: [Signal(row[0], row[1], row[2], row[3] or "") for row in found],
        worker=worker, open=list(open_claims), told=told, gap=gap,
    )  # fmt: skip


def leave_worker(worker: int) -> Verb[None]:
    """It stops: it claims nothing more, and nobody can resume it."""
    return verb("leave_worker", nothing, worker=worker)


class Ended(NamedTuple):
    given_back: int
    remaining: int


def end_worker(worker: int, *, state: str, because: str, suspect: bool) -> Verb[Ended]:
    return verb("end_worker", lambda found: Ended._make(found[0]), worker=worker, state=state, because=because, suspect=suspect)


def tend(worker: int, lease: float) -> Verb[Row]:
    """(leads, recovered, swept, unfinished): leadership, silent workers and overdue jobs, in one statement."""
    return verb("tend", lambda found: found[0], worker=worker, lease=lease)


def reap(worker: int) -> Verb[None]:
    """Declares silent workers dead; everybody may."""
    return verb("reap", nothing, worker=worker)


def overdue(worker: int, grace: float) -> Verb[list[Row]]:
    """Runs that should have ended `grace` seconds ago: (id, attempt, claim, timeout, kind of the stop, its reason)."""
    return verb("overdue", rows, worker=worker, grace=grace)


def workers(*, ended: bool = False) -> Verb[list[Row]]:
    return verb("list_workers", rows, ended=ended)


def health() -> Verb[Row]:
    return verb("health", lambda found: found[0])


def unserved_types() -> Verb[list[Row]]:
    return verb("unserved_types", rows)


def queue_depths() -> Verb[list[Row]]:
    return verb("queue_depths", rows)
