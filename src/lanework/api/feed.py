"""One reader of the event log per process, whatever the number of streams: it passes events on, and wakes the streams of the jobs
that they are about."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from lanework._store.overview import Stretch, peek_events
from lanework._store.verb import Verb
from lanework.api.owned import own, owned_stretches
from lanework.api.streams import encoded
from lanework.client import Lanework
from lanework.errors import DatabaseUnavailable, EventsRemoved, InvalidCursor
from lanework.events import POLL, Event, Everywhere

T = TypeVar("T")
logger = logging.getLogger("lanework")
#: How many streams of jobs read at a time: the process's connections are there for its requests first.
READS = 2
_PEEKED = 10_000
Place = tuple[int, int]


class Told:
    """An event on its way to many streams: written out once."""

    def __init__(self, event: Event) -> None:
        self.event, self.place = event, place(event.cursor)

    @cached_property
    def sse(self) -> bytes:
        return encoded(self.event)


class Reader(Protocol):
    """Who follows everything. `owner`: only what happens to the jobs of this one."""

    owner: str | None

    def take(self, told: Sequence[Told], upto: Place) -> None: ...

    def drop(self, why: str) -> None: ...


class Bell(Protocol):
    """Who follows one job."""

    job_id: int

    def ring(self) -> None: ...


class Feed:
    """Reads while there is a stream. Those who joined are held weakly: a request that ends before its stream begins leaves
    nothing behind."""

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self._task: asyncio.Task[None] | None = None
        self._at: Everywhere | None = None
        self._readers: WeakSet[Any] = WeakSet()
        self._bells: dict[int, WeakSet[Any]] = defaultdict(WeakSet)
        self._joining = asyncio.Lock()
        self._reads = asyncio.Semaphore(READS)
        self._peeked: set[Place] = set()
        self._peek_at: Place = (0, 0)

    async def run(self, verb: Verb[T]) -> T:
        """A read for one stream."""
        async with self._reads:
            return await self._app._arun(verb)

    async def follow(self, reader: Reader) -> Place:
        """From the returned place on the reader is given everything."""
        async with self._joining:
            at = await self._begin()
            self._readers.add(reader)
            return _of(at)

    async def watch(self, bell: Bell) -> None:
        """From now on the bell rings when something has happened to its job."""
        async with self._joining:
            await self._begin()
            self._bells[bell.job_id].add(bell)

    def leave(self, reader: Reader) -> None:
        self._readers.discard(reader)

    def unwatch(self, bell: Bell) -> None:
        bells = self._bells.get(bell.job_id)
        if bells is not None:
            bells.discard(bell)
            if not bells:
                del self._bells[bell.job_id]

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    # -- reading ---------------------------------------------------------------------------------------------------------

    async def _begin(self) -> Everywhere:
        """The first one finds out where the log is; if it cannot be asked, he is told."""
        if self._at is None or self._at.xid is None:
            at = Everywhere.after(None, None, None)
            at.take(await self._app._arun(at.verb()))
            self._at, self._peek_at = at, _of(at)
            self._peeked.clear()
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._read(), name="lanework-feed")
        return self._at

    async def _read(self) -> None:
        try:
            with self._app._hub.seat() as seat:
                while self._anybody():
                    with seat.reading() as is_open:
                        more = is_open and await self._round()
                    if not more and not await seat.await_(POLL):
                        return
        finally:
            self._at = None  # whoever comes next begins anew

    def _anybody(self) -> bool:
        for job in [job for job, bells in self._bells.items() if not bells]:
            del self._bells[job]
        return bool(self._readers or self._bells)

    async def _round(self) -> bool:
        """True: there is more. Nothing that goes wrong here ends the reading; what was not passed on is read again."""
        try:
            return await self._page()
        except DatabaseUnavailable as error:
            logger.info("the event log cannot be read (%s); streams go on when it can", error)
        except (EventsRemoved, InvalidCursor) as error:
            self._begin_anew(error)
        except Exception:
            logger.exception("the event log cannot be read; streams go on when it can")
            await asyncio.sleep(POLL)
        return False

    def _begin_anew(self, error: Exception) -> None:
        """The log has no such place any more: it was emptied meanwhile, or is another one. The streams' places are gone, too."""
        for reader in list(self._readers):
            self._readers.discard(reader)
            reader.drop(str(error))
        self._at, self._peek_at = Everywhere.after(None, None, None), (0, 0)
        for job in list(self._bells):
            self._ring((job,))

    async def _page(self) -> bool:
        before = self._at
        assert before is not None
        at = replace(before)
        page = at.take(await self._app._arun(at.verb()))
        told = [Told(event) for event in page.events]
        owners = await self._owners(page.events)
        if self._at is not before:
            return True
        # no await from here on: the position and what was passed on are one
        self._at = at
        for reader in list(self._readers):
            reader.take(told if reader.owner is None else _own(told, owners[reader.owner]), _of(at))
        for one in told:
            if one.place in self._peeked:
                self._peeked.discard(one.place)
            else:
                self._ring(one.event.jobs)
        if self._bells and not page.more:
            await self._peek(_of(at))
        return page.more

    async def _owners(self, events: Sequence[Event]) -> dict[str, list[Stretch]]:
        """Whose jobs these are, of those who follow their own: one query, whatever their number."""
        found: dict[str, list[Stretch]] = {}
        while wanted := {reader.owner for reader in self._readers if reader.owner is not None} - found.keys():
            # again for who has come meanwhile
            found |= await owned_stretches(self._app, wanted, events)
        return found

    async def _peek(self, horizon: Place) -> None:
        """A job's own stream does not wait for transactions of others: its bell rings for what lies beyond the horizon, too. What
        is missed here rings below it."""
        rows = await self._app._arun(peek_events(*max(self._peek_at, horizon)))
        for xid, id, job_id, job_ids, first, last in rows:
            self._peek_at = (int(xid), id)
            if len(self._peeked) < _PEEKED:
                self._peeked.add(self._peek_at)
            self._ring((job_id,) if job_id is not None else job_ids or (() if first is None else range(first, last + 1)))

    def _ring(self, jobs: Sequence[int]) -> None:
        for job in _among(self._bells, jobs):
            for bell in list(self._bells[job]):
                bell.ring()


def _among(watched: dict[int, Any], jobs: Sequence[int]) -> Iterable[int]:
    if len(jobs) <= len(watched):
        return [job for job in jobs if job in watched]
    return [job for job in watched if job in jobs] if isinstance(jobs, range) else watched.keys() & set(jobs)


def place(cursor: str) -> Place:
    xid, _, id = cursor.partition("-")
    return int(xid), int(id)


def _of(at: Everywhere) -> Place:
    return at.xid or 0, at.id


def _own(told: Sequence[Told], stretches: Sequence[Stretch]) -> list[Told]:
    kept = [(one, own(one.event, stretches)) for one in told]
    return [one if event is one.event else Told(event) for one, event in kept if event is not None]
