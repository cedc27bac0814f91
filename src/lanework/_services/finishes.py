"""Completed runs of a lane, on their way to the database: with the next claim, or beside it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import psycopg

from lanework._codec import clean_text
from lanework._services.run import Run
from lanework._store import claims
from lanework._store.verb import is_outage
from lanework.errors import ClaimLost, InvalidResult, LaneworkError
from lanework.retries import Verdict

if TYPE_CHECKING:
    from lanework._services.lane import Lane

logger = logging.getLogger("lanework")

#: Finishes in one call.
MOST = 1000
#: While at least so many bodies run, fewer finishes than that wait a moment for others: a call costs as much as forty of them.
GOOD_BATCH = 250
GATHERING = 0.001

#: Runs, each with its result as JSON text.
Done = list[tuple[Run, str | None]]


class Finishes:
    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self.waiting: Done = []
        #: In a call of their own, beside the claims.
        self.under_way = 0
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Those that still have their slots."""
        return len(self.waiting) + self.under_way

    @property
    def beside(self) -> bool:
        return self._task is not None

    def go_beside(self) -> None:
        if self.waiting and self._task is None:
            self._task = self._lane.spawn(self._run_beside())

    def take(self) -> Done:
        done, self.waiting = self.waiting[:MOST], self.waiting[MOST:]
        return done

    def put_back(self, done: Done) -> None:
        self.waiting = done + self.waiting

    def forget(self) -> None:
        self.waiting.clear()

    async def store(self, done: Done) -> None:
        """Finishes without a claim; a batch that is refused is split down to the one at fault, which fails alone."""
        try:
            count = await self._lane.keeper.run(
                claims.completed(self._lane.host.worker_id, [(*run.held, result) for run, result in done])
            )
        except psycopg.Error as error:
            if is_outage(error):
                self.put_back(done)
                raise
            logger.error("lane %s: a finish was refused (%s); looking for the value at fault", self._lane.name, error)
            if len(done) == 1:
                text = clean_text(f"its result cannot be stored: {error}", 4000)
                refused = Verdict("fail", error_class="permanent", error=text, error_code=InvalidResult.code)
                self._lane.verdicts.add(done[0][0], refused)
                return
            await self.store(done[: len(done) // 2])
            await self.store(done[len(done) // 2 :])
            return
        except LaneworkError:
            self.put_back(done)
            raise
        lost = await self.read_back(done) if count < len(done) else set()
        self._lane.stored(done, lost)

    async def _run_beside(self) -> None:
        """Finishes of a big lane have a call of their own, beside the claims."""
        try:
            while self.waiting:
                if len(self.waiting) < GOOD_BATCH <= self._lane.used:
                    await asyncio.sleep(GATHERING)
                done = self.take()
                self.under_way = len(done)
                try:
                    await self.store(done)
                except Exception as error:
                    self._lane.health.last_error = f"{type(error).__name__}: {error}"
                    await asyncio.sleep(0.2)
                finally:
                    self.under_way = 0
                self._lane.hurry()
        finally:
            self._task = None

    async def read_back(self, done: Done) -> set[int]:
        """A finish that changed nothing was either ours already, its answer lost, or its claim is gone. Answers the latter."""
        runs = [run for run, _ in done]
        return tell_lost(runs, await self._lane.keeper.run(claims.read_back(self._lane.host.worker_id, [run.held for run in runs])))


def tell_lost(runs: list[Run], ended: dict[int, bool]) -> set[int]:
    lost = {run.held.id for run in runs if not ended.get(run.held.id, False)}
    for run in runs:
        if run.held.id in lost:
            error = ClaimLost(f"job {run.held.id}: attempt {run.held.attempt} was superseded; its outcome was refused")
            logger.warning("%s (%s)", error, error.code)
    return lost
