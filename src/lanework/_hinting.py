"""Hints after a submit: sent outside the submit's transaction, and together with others that wait to be sent."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

from lanework._store.hints import hint
from lanework._store.inside import promote_sessions
from lanework._store.verb import Verb

if TYPE_CHECKING:
    from lanework.client import Lanework


def target(lane: str, session: str | None) -> str:
    """Whom a submit concerns: a lane's workers, or the jobs of a session, of which the first is let go."""
    return lane if session is None else f"@{session}"


def _verb(name: str) -> Verb[Any]:
    return promote_sessions([name[1:]]) if name.startswith("@") else hint(name)


class Hinter:
    """Whoever comes while somebody is sending leaves his hint to him. A hint that is lost costs one poll."""

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._waiting: set[str] = set()
        self._sending = False
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, lane: str) -> None:
        if not self._add(lane):
            return
        try:
            while batch := self._take():
                with contextlib.suppress(Exception):
                    for name in batch:
                        self._app._run(_verb(name))
        except BaseException:  # interrupted: whoever comes next must not leave his hint to nobody
            self._sending = False
            raise

    def asend(self, lane: str) -> None:
        """Does not wait: the submit is answered when it is stored."""
        if self._add(lane):
            task = asyncio.get_running_loop().create_task(self._asend())
            self._tasks.add(task)
            task.add_done_callback(self._sent)

    async def _asend(self) -> None:
        while batch := self._take():
            with contextlib.suppress(Exception):
                for name in batch:
                    await self._app._arun(_verb(name))

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # by the end of its loop, perhaps before its first step
            self._sending = False

    def _add(self, lane: str) -> bool:
        """True if the caller is the one who sends."""
        if not self._app.settings.notify and not lane.startswith("@"):
            return False
        with self._lock:
            self._waiting.add(lane)
            if self._sending:
                return False
            self._sending = True
            return True

    def _take(self) -> set[str]:
        with self._lock:
            batch, self._waiting = self._waiting, set()
            self._sending = bool(batch)
            return batch
