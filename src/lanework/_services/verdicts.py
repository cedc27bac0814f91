"""Ends of runs other than a plain completion, on their way to the database."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import psycopg

from lanework._codec import clean_text
from lanework._failpoints import reach
from lanework._services.finishes import tell_lost
from lanework._services.hooking import HookRunner
from lanework._services.run import Run
from lanework._store.claims import Settled, read_back, settle
from lanework._store.hints import hint
from lanework._store.inside import wake_parents
from lanework._store.verb import is_outage
from lanework.errors import InvalidResult
from lanework.hooks import Kind
from lanework.retries import Verdict

if TYPE_CHECKING:
    from lanework._services.lane import Lane

logger = logging.getLogger("lanework")

#: Verdicts in one call.
MOST = 500


class Verdicts:
    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._waiting: list[tuple[Run, Verdict]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, run: Run, verdict: Verdict) -> None:
        self._waiting.append((run, verdict))

    def forget(self) -> None:
        self._waiting.clear()

    async def store(self) -> None:
        batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
        batch.sort(key=lambda item: item[0].held.id)
        try:
            await reach("before_settle")
            answers = await self._store_or_split(batch)
        except BaseException:
            self._waiting = batch + self._waiting
            raise
        known = {answer.id for answer in answers}
        missing = [run for run, _ in batch if run.held.id not in known]
        if missing:
            tell_lost(missing, await self._lane.keeper.run(read_back(self._lane.host.worker_id, [run.held for run in missing])))
        for run, _ in batch:
            self._lane.settled_some(run.no)
            self._lane.limits.stored(run)
        self._lane.host.told()
        if self._lane.hooks is not None:
            _tell_hooks(self._lane.hooks, batch, answers)
        await self._announce(answers)

    async def _store_or_split(self, batch: list[tuple[Run, Verdict]]) -> list[Settled]:
        """A verdict that the database refuses must not keep the others from being stored."""
        try:
            return await self._lane.keeper.run(settle(self._lane.host.worker_id, [(run.held, verdict) for run, verdict in batch]))
        except psycopg.Error as error:
            if is_outage(error):
                raise
            logger.error("lane %s: an outcome was refused (%s); looking for the one at fault", self._lane.name, error)
            if len(batch) == 1:
                text = clean_text(f"its outcome cannot be stored: {error}", 4000)
                refused = Verdict("fail", error_class="permanent", error=text, error_code=InvalidResult.code)
                return await self._lane.keeper.run(settle(self._lane.host.worker_id, [(batch[0][0].held, refused)]))
            half = len(batch) // 2
            return [*await self._store_or_split(batch[:half]), *await self._store_or_split(batch[half:])]

    async def _announce(self, answers: list[Settled]) -> None:
        if any(answer.next == "approved" for answer in answers):
            self._lane.hurry()
            await self._lane.keeper.run(hint(self._lane.name))
        parked = [answer.id for answer in answers if answer.next == "blocked"]
        if parked:
            self._lane.spawn(self._look_again(parked))
        due = [answer.due_in for answer in answers if answer.due_in is not None]
        if due:
            self._lane.host.due_in(max(min(due), 0.0))

    async def _look_again(self, parked: list[int]) -> None:
        """A child may have ended while its parent was being parked: its transaction saw a parent that runs, and may be open yet."""
        for pause in (0.0, 0.1, 1.0):
            await asyncio.sleep(pause)
            await self._lane.attempt(wake_parents(parked))


def _tell_hooks(hooks: HookRunner, batch: list[tuple[Run, Verdict]], answers: list[Settled]) -> None:
    """Of what was stored. A job that was given back, or waits for its children, has not been retried."""
    next_of = {answer.id: answer.next for answer in answers}
    for run, verdict in batch:
        outcome = next_of.get(run.held.id)
        if outcome is not None and (kind := _ENDS.get(outcome) or _ACTIONS.get(verdict.action)):
            hooks.job(kind, run, outcome=outcome, error_class=verdict.error_class, error=verdict.error)


_ENDS: dict[str, Kind] = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
_ACTIONS: dict[str, Kind] = {"retry": "retried", "snooze": "snoozed"}
