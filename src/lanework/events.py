"""Events: what happened, in order, from a position on. One stream of everything, and one of each job.

for event in app.events(topics=["job"]):          # from now on, until you leave the loop
    print(event.kind, event.jobs)
for event in handle.events():                     # one job's life; ends after its final state
    print(event.at, event.kind, event.data)
app.events(after=event.cursor)                    # goes on after that event, in whatever process
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lanework._handle import FINAL
from lanework._store.events import job_events, read_events
from lanework._store.verb import Row, Verb
from lanework.errors import DatabaseUnavailable, InvalidCursor, JobNotFound

if TYPE_CHECKING:
    from lanework.client import Lanework

#: What the engine itself tells. Applications tell topics of their own with `lanework.tell`.
TOPICS = ("job", "log", "progress", "operator", "operation", "maintenance", "schedule", "budget")
PAGE = 500
#: How long a subscription waits for a hint before it looks by itself. Looking is the promise, the hint makes it sooner.
POLL = 1.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `jobs` are the jobs it happened to: changes of state come in batches. `cursor` is where to go on."""

    cursor: str
    at: datetime
    topic: str
    kind: str
    jobs: Sequence[int] = ()
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def job_id(self) -> int | None:
        """The job, if it is about one."""
        return self.jobs[0] if len(self.jobs) == 1 else None

    @property
    def final(self) -> bool:
        return self.topic == "job" and self.kind in FINAL


class Page(NamedTuple):
    events: list[Event]
    more: bool  # there are more right away
    ended: bool  # nothing will follow


NOTHING = Page([], False, False)


class Position(Protocol):
    """Where a subscription is. `take` moves it."""

    def verb(self) -> Verb[list[Row]]: ...

    def take(self, rows: list[Row]) -> Page: ...


# -- the stream of all events


@dataclass(slots=True)
class Everywhere:
    """(xid, id): below the oldest running transaction this order is final."""

    xid: int | None
    id: int
    topics: Sequence[str] | None = None
    kinds: Sequence[str] | None = None

    @classmethod
    def after(cls, cursor: str | None, topics: Sequence[str] | None, kinds: Sequence[str] | None) -> Everywhere:
        if cursor is None:
            return cls(None, 0, topics, kinds)
        if not (found := re.fullmatch(r"(\d{1,19})-(\d{1,19})", cursor)):
            raise InvalidCursor(f"after: expected a cursor like '7714-52' ('0-0' is the oldest event that is kept), got {cursor!r}")
        return cls(int(found[1]), int(found[2]), topics, kinds)

    def verb(self) -> Verb[list[Row]]:
        return read_events(self.xid, self.id, self.topics, self.kinds, PAGE)

    def take(self, rows: list[Row]) -> Page:
        horizon = int(rows[0][0])
        events = [_event(row) for row in rows[1:]]
        if len(events) < PAGE:
            # all below the horizon has been seen: what follows is not below it
            self.xid, self.id = horizon - 1, 2**63 - 1
        else:
            self.xid, self.id = int(rows[-1][1]), rows[-1][2]
        return Page(events, len(events) == PAGE, False)


def _event(row: Row) -> Event:
    _, xid, id, at, topic, kind, job_id, job_ids, first, last, data = row
    jobs: Sequence[int] = job_ids or ()
    if job_id is not None:
        jobs = (job_id,)
    elif first is not None:
        jobs = range(first, last + 1)
    return Event(f"{xid}-{id}", at, topic, kind, jobs if isinstance(jobs, range) else tuple(jobs), _data(data))


def _data(text: Any) -> dict[str, Any]:
    return {} if text is None else json.loads(text)


# -- one job's stream


@dataclass(frozen=True, slots=True)
class OfJob:
    """How much of each part of a job's story has been told. Each part has an order of its own; see `lanework.job_events`."""

    attempt: int = -1
    phase: int = 0
    log: int = 0
    act: int = 0
    progress: int = 0  # microseconds

    @classmethod
    def at(cls, cursor: str | None) -> OfJob:
        if cursor is None:
            return cls()
        if not re.fullmatch(r"-?\d{1,9}(\.\d{1,19}){4}", cursor):
            raise InvalidCursor(f"after: expected the cursor of an event of this job, like '1.2.310.0.0', got {cursor!r}")
        return cls(*map(int, cursor.split(".")))

    def __str__(self) -> str:
        return f"{self.attempt}.{self.phase}.{self.log}.{self.act}.{self.progress}"

    def told(self, row: Row) -> OfJob:
        part, attempt, phase, id, at, *_ = row
        if part == "act":
            return replace(self, act=id)
        if part == "progress":
            return replace(self, progress=_microseconds(at))
        place = max((self.attempt, self.phase), (attempt, phase))
        return replace(self, attempt=place[0], phase=place[1], log=id if part == "log" else self.log)


class Story:
    """A job's own stream."""

    def __init__(self, job_id: int, cursor: str | None, topics: Sequence[str] | None, kinds: Sequence[str] | None) -> None:
        self.job_id, self._topics, self._kinds = job_id, topics, kinds
        self._at = OfJob.at(cursor)

    def verb(self) -> Verb[list[Row]]:
        at = self._at
        progress = None if at.progress == 0 else _EPOCH + timedelta(microseconds=at.progress)
        return job_events(self.job_id, attempt=at.attempt, phase=at.phase, log=at.log, act=at.act, progress=progress, limit=PAGE)

    def take(self, rows: list[Row]) -> Page:
        if not rows:
            raise JobNotFound(f"there is no job {self.job_id}")
        ordered, more = in_order([row for row in rows if row[0] != "job"])
        status = next(row[6] for row in rows if row[0] == "job")
        events = []
        for row in ordered:
            self._at = self._at.told(row)
            if (self._topics is None or row[5] in self._topics) and (self._kinds is None or row[6] in self._kinds):
                events.append(Event(str(self._at), row[4], row[5], row[6], (self.job_id,), _data(row[7])))
        return Page(events, more, status in FINAL and not more)


def in_order(rows: list[Row]) -> tuple[list[Row], bool]:
    """States and lines by their place in the job's life; what operators did, and progress, by time between them. An end is last.

    True: a part of the rows was cut off at the size of a page; what lies beyond it waits for the next one.
    """
    life = sorted((row for row in rows if row[0] in ("state", "log")), key=lambda row: (row[1], row[2], row[3]))
    beside = sorted((row for row in rows if row[0] in ("act", "progress")), key=lambda row: (row[4], row[3]))
    more = sum(row[0] == "act" for row in beside) >= PAGE
    for part in ("state", "log"):
        places = [place for place, row in enumerate(life) if row[0] == part]
        if len(places) >= PAGE:
            life, more = life[: places[-1] + 1], True
            beside = [row for row in beside if row[4] <= life[-1][4]]
    ordered: list[Row] = []
    for row in life:
        last = row is life[-1] and row[6] in FINAL and row[0] == "state"
        while beside and (last or beside[0][4] < row[4]):
            ordered.append(beside.pop(0))
        ordered.append(row)
    return ordered + beside, more


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


# -- following


def position(
    after: str | None, job: int | None, topics: str | Sequence[str] | None, kinds: str | Sequence[str] | None
) -> Position:  # fmt: skip
    wanted, named = ([one] if isinstance(one, str) else one for one in (topics, kinds))
    return Everywhere.after(after, wanted, named) if job is None else Story(job, after, wanted, named)


def pages(app: Lanework, at: Position, *, follow: bool) -> Iterator[Page]:
    """Read when there may be something new; between the reads no connection is held. An outage is waited for."""
    page: Page | None = None
    with app._hub.seat() as seat:
        while page is None or not page.ended:
            with seat.reading() as is_open:
                if not is_open:
                    return
                try:
                    page = at.take(app._run(at.verb()))
                except DatabaseUnavailable:
                    if page is None:
                        raise
                    page = NOTHING
            yield page
            if not page.more and (not follow or page.ended or not seat.wait(POLL)):
                return


async def apages(app: Lanework, at: Position, *, follow: bool) -> AsyncIterator[Page]:
    page: Page | None = None
    with app._hub.seat() as seat:
        while page is None or not page.ended:
            with seat.reading() as is_open:
                if not is_open:
                    return
                try:
                    page = at.take(await app._arun(at.verb()))
                except DatabaseUnavailable:
                    if page is None:
                        raise
                    page = NOTHING
            yield page
            if not page.more and (not follow or page.ended or not await seat.await_(POLL)):
                return
