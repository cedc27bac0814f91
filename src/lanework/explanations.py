"""Why a job is not running now, and what keeps a lane from starting more: one answer, the same for every client."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Explanation:
    """`app.explain(job_id)`.

    reason      a code that does not change: `full`, `session`, `delayed`, …
    text        the same in words
    waits_for   what it waits for, as `noun:name`: `lane:books`, `session:chat-7`, `permit:gpu`, `job:17`
    holders     who holds that: `job:17`, `worker:3`
    until       the moment at which that changes by itself, where it is known
    remedy      what would change it
    """

    job_id: int
    status: str
    reason: str
    text: str
    waits_for: tuple[str, ...]
    holders: tuple[str, ...]
    until: datetime | None
    remedy: str


@dataclass(frozen=True, slots=True)
class Brake:
    """`app.lanes.explain(name)`: the fields mean the same. `open`: nothing holds it. `empty`: nothing waits there."""

    lane: str
    reason: str
    text: str
    waits_for: tuple[str, ...]
    holders: tuple[str, ...]
    until: datetime | None
    remedy: str
