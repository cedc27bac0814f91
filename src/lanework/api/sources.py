"""What a stream sends: one job's story, or everything. Both go on after a cursor without a gap and without a repetition."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from lanework.api.feed import Feed, Place, Told
from lanework.api.owned import own, owned_stretches
from lanework.api.streams import CHUNK, Batch, Listener, encoded
from lanework.client import Lanework
from lanework.errors import DatabaseUnavailable, JobNotFound
from lanework.events import Event, Everywhere, Page, Story

#: What waits for a client. If it is more than either when the next page comes, the client is dropped: it goes on from its last
#: event when it is back.
MOST_WAITING, MOST_BYTES = 2_000, 8_388_608
#: A job's stream looks by itself now and then: kinds of events that are not told wake nobody.
LOOK = 60.0
#: After the database was away.
AGAIN = 1.0
TOO_SLOW = "you read too slowly; go on from your last event"


class OneJob:
    """A job's events until its final state. Reads when its bell has rung, and holds nothing in between."""

    def __init__(self, feed: Feed, job_id: int, after: str | None) -> None:
        self.listener: Listener | None = None
        self.job_id = job_id
        self._feed, self._at = feed, Story(job_id, after, None, None)
        self._rung, self._look_at = False, 0.0
        self._first: Page | None = None

    async def begin(self) -> bool:
        """False: it has ended, and there is nothing left to tell. What is wrong is raised here, before a stream was begun."""
        await self._feed.watch(self)
        self._first = await self._read()
        return bool(self._first.events) or not self._first.ended

    async def read(self) -> Batch:
        page, self._first = self._first, None
        try:
            if page is None:
                if not self._rung and time.monotonic() < self._look_at:
                    return Batch()
                page = await self._read()
        except DatabaseUnavailable:
            self._rung = True
            return Batch(wait=AGAIN * random.uniform(1, 2))  # noqa: S311 - spacing, not secrecy
        except JobNotFound:  # deleted meanwhile
            return Batch(ended=True)
        return Batch([encoded(event) for event in page.events], more=page.more, ended=page.ended)

    async def _read(self) -> Page:
        self._rung = False
        page = self._at.take(await self._feed.run(self._at.verb()))
        self._look_at = time.monotonic() + LOOK * random.uniform(0.8, 1.2)  # noqa: S311 - spacing, not secrecy
        return page

    def ring(self) -> None:
        self._rung = True
        if self.listener is not None:
            self.listener.wake()

    def mark(self) -> str | None:
        return None  # its events say it

    def close(self) -> None:
        self._feed.unwatch(self)


class Everything:
    """All events from a place on: first what is stored, page by page; then what the feed passes on."""

    def __init__(self, app: Lanework, feed: Feed, after: str | None, topics: Sequence[str] | None, owner: str | None) -> None:
        self.listener: Listener | None = None
        self.owner = owner
        self._app, self._feed, self._topics = app, feed, topics
        self._behind = None if after is None else Everywhere.after(after, topics, None)
        self._following = False
        self._seen: Place = (0, 0)
        self._waiting: deque[Told] = deque()
        self._bytes = 0
        self._first: Batch | None = None
        self._dropped = False

    async def begin(self) -> None:
        """What is wrong with the cursor is raised here, before a stream was begun."""
        if self._behind is None:
            self._seen = await self._feed.follow(self)
            self._following = True
        else:
            self._first = await self._catch_up(self._behind)

    async def read(self) -> Batch:
        if self._first is not None:
            batch, self._first = self._first, None
            return batch
        if self._dropped:
            return Batch(ended=True)
        if self._behind is None:
            return self._next()
        try:
            return await self._catch_up(self._behind)
        except DatabaseUnavailable:
            return Batch(wait=AGAIN * random.uniform(1, 2))  # noqa: S311 - spacing, not secrecy

    def _next(self) -> Batch:
        data: list[bytes] = []
        size = 0
        while self._waiting and size < CHUNK:
            data.append(self._waiting.popleft().sse)
            size += len(data[-1])
        self._bytes -= size
        return Batch(data, more=bool(self._waiting))

    async def _catch_up(self, behind: Everywhere) -> Batch:
        """Near the end it joins the feed, and reads on until there is nothing more: that reaches beyond where the feed was then."""
        at = replace(behind)
        page = at.take(await self._feed.run(at.verb()))
        events = await self._mine(page.events)
        if not page.more and not self._following:
            await self._feed.follow(self)
            self._following, page = True, page._replace(more=True)
        elif not page.more:
            self._go_live((at.xid or 0, at.id))
        if self._behind is not None:
            self._behind = at
        return Batch([encoded(event) for event in events], more=True)

    def _go_live(self, upto: Place) -> None:
        self._behind = None
        self._seen = upto
        kept = [one for one in self._waiting if one.place > upto]
        self._waiting = deque(kept)
        self._bytes = sum(len(one.sse) for one in kept)

    async def _mine(self, events: list[Event]) -> list[Event]:
        if self.owner is None or not events:
            return events
        stretches = (await owned_stretches(self._app, [self.owner], events))[self.owner]
        return [kept for event in events if (kept := own(event, stretches)) is not None]

    # -- what the feed tells it ------------------------------------------------------------------------------------------

    def take(self, told: Sequence[Told], upto: Place) -> None:
        if len(self._waiting) > MOST_WAITING or self._bytes > MOST_BYTES:
            self.drop(TOO_SLOW)
            return
        for one in told:
            if one.place > self._seen and (self._topics is None or one.event.topic in self._topics):
                self._waiting.append(one)
                self._bytes += len(one.sse)
        self._seen = max(self._seen, upto) if self._behind is None else self._seen
        if self._waiting and self.listener is not None:
            self.listener.wake()

    def drop(self, why: str) -> None:
        self.close()
        self._waiting.clear()
        self._dropped = True
        if self.listener is not None:
            self.listener.end(why)

    def mark(self) -> str | None:
        if self._waiting or self._dropped or self._first is not None:
            return None
        xid, id = self._seen if self._behind is None else (self._behind.xid or 0, self._behind.id)
        return f"{xid}-{id}"

    def close(self) -> None:
        self._feed.leave(self)
