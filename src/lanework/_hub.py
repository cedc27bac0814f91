"""One LISTEN for all subscriptions of a process. It rings when there may be new events; who hears nothing looks by himself."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg

from lanework._store.events import listen_to_events, subscribe, unsubscribe
from lanework.errors import LaneworkError

if TYPE_CHECKING:
    from lanework.client import Lanework

logger = logging.getLogger("lanework")

#: A subscriber's row is renewed three times before it would run out.
LEASE = 60.0
#: Between attempts to listen.
TICK = 1.0
#: How long the listening thread may take to see that it is not wanted any more.
LOOK_UP = 0.25
CLOSE_S = 5.0


class Seat:
    """One subscription's place at the hub. What rings while it reads is not lost: it then does not wait."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._seen = hub.rings

    @contextmanager
    def reading(self) -> Iterator[bool]:
        """Around a read. False: the application was closed, and must not be opened again by it."""
        with self._hub.changed:
            self._seen, open_now = self._hub.rings, not self._hub.closed
            self._hub.readers += open_now
        try:
            yield open_now
        finally:
            with self._hub.changed:
                self._hub.readers -= open_now
                self._hub.changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Until the hub rings or the time is over. False: the application was closed."""
        with self._hub.changed:
            self._hub.changed.wait_for(lambda: self._hub.rings != self._seen or self._hub.closed, seconds)
        return not self._hub.closed

    async def await_(self, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        bell: asyncio.Future[None] = loop.create_future()
        with self._hub.changed:
            if self._hub.rings != self._seen or self._hub.closed:
                return not self._hub.closed
            self._hub.bells.add((loop, bell))
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await bell
        finally:
            with self._hub.changed:
                self._hub.bells.discard((loop, bell))
        return not self._hub.closed


class Hub:
    """Listens while somebody sits at it, in a thread of its own."""

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self.changed = threading.Condition()
        self.rings = 0
        self.closed = False
        self.listening = False
        self.bells: set[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()
        self.readers = 0
        self._seats = 0
        self._thread: threading.Thread | None = None
        self._id = str(uuid4())

    @contextmanager
    def seat(self) -> Iterator[Seat]:
        with self.changed:
            self.closed = False
            self._seats += 1
            if self._thread is None and self._app.settings.notify:
                self._thread = threading.Thread(target=self._listen, name="lanework-events", daemon=True)
                self._thread.start()
        try:
            yield Seat(self)
        finally:
            with self.changed:
                self._seats -= 1
                self.changed.notify_all()

    def ring(self) -> None:
        with self.changed:
            self.rings += 1
            self.changed.notify_all()
            bells, self.bells = self.bells, set()
        for loop, bell in bells:
            with contextlib.suppress(RuntimeError):  # its loop has ended
                loop.call_soon_threadsafe(_set, bell)

    def close(self) -> None:
        """Ends every subscription of this application, and the listening."""
        with self.changed:
            self.closed = True
            thread = self._thread
        self.ring()
        with self.changed:
            self.changed.wait_for(lambda: not self.readers, CLOSE_S)
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_S)

    # -- the thread

    def _listen(self) -> None:
        try:
            while self._wanted():
                try:
                    self._session()
                except (psycopg.Error, LaneworkError, OSError) as error:
                    logger.info("events are followed by polling until the database answers: %s", error)
                    self._pause(TICK)
        finally:
            self.listening = False

    def _wanted(self) -> bool:
        """False, at most once: whoever comes later starts another thread."""
        with self.changed:
            if self._seats and not self.closed:
                return True
            self._thread = None
            return False

    def _session(self) -> None:
        settings = self._app.settings
        conn = listen_to_events(settings.direct_dsn or self._app._ready().dsn, settings)
        if conn is None:  # behind a pooler: polling only
            while self._seats and not self.closed:
                self._pause(LEASE)
            return
        with conn:
            try:
                self._hear(conn)
            finally:
                self.listening = False
                with contextlib.suppress(psycopg.Error):
                    conn.execute(unsubscribe(self._id).sql, unsubscribe(self._id).params)

    def _hear(self, conn: psycopg.Connection[Any]) -> None:
        due = 0.0
        while self._seats and not self.closed:
            if time.monotonic() >= due:
                verb = subscribe(self._id, LEASE)
                conn.execute(verb.sql, verb.params)
                due = time.monotonic() + LEASE / 3
                if not self.listening:
                    self.listening = True
                    self.ring()  # what was told while nobody listened is found by looking
            for _ in conn.notifies(timeout=LOOK_UP, stop_after=1):
                self.ring()

    def _pause(self, seconds: float) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.closed or not self._seats, seconds)


def _set(bell: asyncio.Future[None]) -> None:
    if not bell.done():
        bell.set_result(None)
